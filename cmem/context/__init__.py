"""What of the memory goes into the next session: select, render, fence."""
