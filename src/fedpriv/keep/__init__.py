"""Stored runs: what finished runs leave, but for weights, in one immutable file each."""
