"""From what a person typed to the rows that answer it."""
