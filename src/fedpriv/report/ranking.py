from fedpriv.report.settings import config_value  # noqa: F401  # moved
