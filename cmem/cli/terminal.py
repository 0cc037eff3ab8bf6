"""Colour for people. The only module that imports rich, and only for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

if TYPE_CHECKING:
    from cmem.cli.output import Line


def write(lines: Iterable[Line]) -> None:
    """Print the lines; stored text is never markup, and rich obeys NO_COLOR by itself."""
    console = Console(markup=False, emoji=False, highlight=False)
    for line in lines:
        text = Text()
        for piece, style in line:
            text.append(piece, style=style or None)
        console.print(text, soft_wrap=True)


@contextmanager
def work(label: str, *, numbers: bool = True) -> Iterator[Callable[[int, int, str], None]]:
    """A bar for work whose amount shows on the way; call the value with how much is done, how
    much there is in all, and a few words beside it. ``numbers``: both are shown as they are."""
    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        *([MofNCompleteColumn()] if numbers else []),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None, note="")
        yield lambda done, total, note: bar.update(task, completed=done, total=total, note=note)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while long work runs; call the value with how much is done."""
    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)
