from fedpriv.report.numbers import LEVEL, METHOD, Interval, interval  # noqa: F401  # moved
