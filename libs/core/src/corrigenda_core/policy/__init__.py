"""Pure decisions, one rule family per file, each citing its rule ids."""
