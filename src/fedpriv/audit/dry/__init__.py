"""A dry run: the rounds that a run has, of canaries and nothing else.

Every client is a canary, with a direction of its own along which it sends ten times the bound. Directions
that nobody has show the noise alone. What is released along different directions is independent, so that a
dry run of N clients is N transcripts with the canary. No data, no model, no training: what is audited is the
code that a round calls (`fedpriv.schemes.exchange`), not a copy of it, and the ε is the ledger's, of the
facts that this code writes down.

- `mechanisms`: what is run, by name. `rounds`: one round of it. `statements`: the ε that its facts state.
- `attacks`: who sees what, and how well that is told apart.
- `probes`: what can be looked at in a round without any chance; `checks`: what can be told of many.
- `audits`: all of it together.
"""

from fedpriv.audit.dry.audits import audit_mechanism, transcripts
from fedpriv.audit.dry.rounds import AttackedMechanism, mechanism_by_name

__all__ = ["AttackedMechanism", "audit_mechanism", "mechanism_by_name", "transcripts"]
