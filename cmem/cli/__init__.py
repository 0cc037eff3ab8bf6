"""The command line: parse, call one core function, print, return."""
