"""The notifier: a process that tells webhook endpoints what happens to a team's conflicts."""
