"""The observer: evidence of a turn in, typed observations out; by a model or by rules."""
