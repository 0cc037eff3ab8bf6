"""``cmem doctor``: every link of the chain tried out, from the registered line to the search.

Checks come in pairs: something looks, something else (pure) judges what was seen. Nothing is
changed but for the doctor's own test event, which is taken out again; whatever repairs a fault
is named as a command.
"""
