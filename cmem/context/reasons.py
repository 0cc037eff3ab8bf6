"""Why a memory is told, in words and figures: what ``cmem context --explain`` shows. Pure."""

from cmem.context import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cmem.store.recent import Observation


def of_score(
    row: "Observation",
    factors: "list[tuple[str, float]]",
    *,
    shared: float,
    own: bool,
    parts: bool,
) -> str:
    """What a score is made of, in the order in which it was."""
    if row[2] in select.WEIGHTS and (parts or select.WEIGHTS[row[2]] > 1.3):
        factors.insert(1, (row[2], select.WEIGHTS[row[2]]))
    if shared > 1:
        what = "files" if shared == select.FILES else "folders"
        factors.append((f"{what} of the last session", shared))
    if row[7]:
        factors.append(("by a subagent", select.AGENT))
    told = [f"{name} x{figure(factor)}" if parts else name for name, factor in factors]
    if own:
        told.append(f"this session +{select.OWN:g}" if parts else "this session")
    if row[3]:
        told.insert(len(told) if parts else 0, f"pinned +{select.PIN:g}" if parts else "pinned")
    return ", ".join(told)


def in_all(why: str, factor: float, score: float) -> str:
    """The reason, with what its topic's other memories leave of the score, and the score."""
    crowd = f", its topic is told of x{figure(factor)}" if factor != 1 else ""
    return f"{why}{crowd} = {score:.2f}"


def figure(factor: float) -> str:
    """With so many places that the figures told give the score told."""
    return f"{factor:.2f}" if abs(factor - round(factor, 2)) < 1e-9 else f"{factor:.4f}"
