"""The conflict service: cases, review items, and the reviewer process."""
