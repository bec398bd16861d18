"""Kept traces: what finished runs leave, but for weights, in one sealed archive a paper and preset."""
