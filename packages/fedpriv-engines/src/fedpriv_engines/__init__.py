"""How local work gets fast: fedpriv computes the same without this package, to float tolerance."""
