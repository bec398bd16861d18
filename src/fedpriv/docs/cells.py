"""What the tables of the README are made of."""


def head(names: list[str]) -> str:
    """Return the first two lines of a table."""
    return line(names) + line(["---"] * len(names)).replace(" ", "")


def line(cells: list[str]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |\n"
