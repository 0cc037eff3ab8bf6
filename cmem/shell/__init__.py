"""Shell commands, read without being run: which programs they start, and which of those fetch."""
