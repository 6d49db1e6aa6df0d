"""Judges what came out: black-box on held-out tests, and the metrics over many cases."""
