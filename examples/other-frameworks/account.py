"""What a training of any framework cost: `python account.py trace.csv`."""

import sys

import pandas

from fedpriv.account import ledger, statements

trace = pandas.read_csv(sys.argv[1])
print(*statements(ledger(trace, delta=1e-5)), sep="\n")
