"""The reviewer process: schedule, claims, worker."""
