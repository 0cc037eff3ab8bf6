"""Entering cmem into a host's own configuration, and taking exactly that out again.

``json_edit`` and ``toml_edit`` operate on text, ``claude_code`` knows the host's settings,
``files`` replaces a file safely, ``record`` remembers what was written, ``register`` joins them.
"""
