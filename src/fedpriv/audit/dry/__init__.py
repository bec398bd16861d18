"""A dry run: the rounds that a run has, of canaries and nothing else.

Every client is a canary that sends ten times the bound along an axis of its own. Axes that nobody has show
the noise alone. What is released along different axes is independent, so that a dry run of N clients is N
transcripts with the canary. No data, no model, no training: what is audited is the code that a round calls
(`fedpriv.schemes.exchange`), not a copy of it, and the ε is the ledger's, of the facts that this code writes
down. Noise and cohorts must be independent from round to round.

- `rounds`: what is run, by name, and one round of it.
- `attacks`: the ε that its facts state, who sees what, and how well neighbours are distinguished.
- `probes`: what can be looked at in a round without any chance.
- `normals`, `cohorts`, `kept`: tests of all noise, of who came, and of what a scheme keeps.
- `audits`: all of it together.
"""

from fedpriv.audit.dry.audits import audit_mechanism, transcripts
from fedpriv.audit.dry.rounds import AttackedMechanism, mechanism_by_name

__all__ = ["AttackedMechanism", "audit_mechanism", "mechanism_by_name", "transcripts"]
