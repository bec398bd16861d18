"""A client's work: what it is, and how a stack of clients is worked through on a CPU or a GPU."""
