"""Entering cmem into a host's own configuration, and taking exactly that out again.

``json_edit`` and ``toml_edit`` operate on text, ``hooks_json`` on hooks in settings, one module
for each host (``host`` says what it has) knows where they go,
``files`` replaces a file safely, ``record`` remembers what was written, ``register`` joins them.
"""
