"""What must not be stored: found by byte gates, cut by rules, cleaned for display."""


def beside(text: str) -> str:
    """A short text from beside a payload without secrets that show by their form."""
    from cmem.privacy import gates

    if not text or not gates.form(text.encode("utf-8", "replace")):
        return text
    from cmem.privacy import scrub

    return scrub.scrub_text(text)


def project_name(text: str) -> str:
    """What a person calls a project, as it is stored and asked for."""
    return beside(text.encode("utf-8", "replace").decode())[:256]
