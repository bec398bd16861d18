"""Whole, sealed files: written in one go, and refused by name when a byte has changed."""
