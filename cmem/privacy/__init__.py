"""What must not be stored: found by byte gates, cut by rules, cleaned for display."""
