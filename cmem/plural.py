"""Numbers of things in words. Pure; it imports nothing, for a search starts with the commands."""


def counted(number: int, one: str, many: str = "") -> str:
    """``1 event``, ``2,000 events``; ``many`` where it is not ``one`` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def named(number: int, name: str) -> str:
    """The same by a plural as a field has it: ``1 summary``, ``4 tool uses``."""
    many = name.replace("_", " ")
    return counted(
        number, many[:-3] + "y" if many.endswith("ies") else many.removesuffix("s"), many
    )
