"""Tables of the pages that are generated."""

from collections.abc import Iterable


def head(names: Iterable[str], right: Iterable[str] = ()) -> str:
    """Return the first two lines of a table; columns of these names are set `right`."""
    names, right = list(names), set(right)
    return line(names) + f"|{'|'.join('---:' if name in right else '---' for name in names)}|\n"


def line(cells: Iterable[object]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |\n"
