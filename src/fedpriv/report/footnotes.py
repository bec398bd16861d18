from fedpriv.report.notes import (  # noqa: F401  # moved
    ESTIMATE,
    accounting,
    accountings,
    data,
    footnotes,
    instances,
    settings,
    stand_ins,
    unique,
)
