"""Several machines, one memory: over a folder that something else already keeps alike."""
