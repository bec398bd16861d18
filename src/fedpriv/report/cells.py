from fedpriv.report.numbers import (  # noqa: F401  # moved
    NONE,
    attacker,
    delta,
    epsilon,
    pair,
    percent,
    power,
    rounded,
    rounds,
    several,
    whole,
    with_interval,
)
