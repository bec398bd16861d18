from fedpriv.paper.tables import Line  # noqa: F401  # moved
