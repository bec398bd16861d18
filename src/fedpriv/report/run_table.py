from fedpriv.paper.cells import titled  # noqa: F401  # moved
from fedpriv.report.reading import fact  # noqa: F401  # moved
