"""Importers: what a host has written down of past sessions, told as its hooks would have.

A host's module finds its transcripts and turns their lines into the payloads of its hooks;
everything after that (scrubbing, identity, turns, taint) is what captured events go through, so
there is one way into the store. ``run`` carries an import out.
"""
