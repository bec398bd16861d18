from fedpriv.report.settings import flattened  # noqa: F401  # moved
