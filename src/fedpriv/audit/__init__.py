"""Lower bounds under ε: attacks on what was run, or on a mechanism by itself. Nothing here trains.

An attacker who tells two neighbours apart better than an ε allows refutes that ε. One who does not proves
nothing.

- `finding`: what an audit says: whose ε, what was stated, the lower bound, the confidence. Who attacks.
- `finished`: the audits of a finished run, from its trace, its sampled distances and its ledger.
- `clients`, `uploads`, `traces`: these attacks, by what they look at.
- `bounds`: from guesses that were right to a lower bound at a confidence.
- `dry`: a mechanism by itself, attacked in rounds of canaries.
"""
