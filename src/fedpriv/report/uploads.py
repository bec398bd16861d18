from fedpriv.report.reading import WIDTH  # noqa: F401  # moved
from fedpriv.report.reading import numbers_sent as numbers  # noqa: F401  # moved
