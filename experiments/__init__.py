"""Experiments: configurations → runner → records → tables. It only wires and loops."""
