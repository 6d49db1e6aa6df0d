"""Writes traces in the formats of other tools."""
