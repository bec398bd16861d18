from fedpriv.report.notes import evaluations, noises, responses  # noqa: F401  # moved
