"""Reads recorded runs of agents as traces: `READERS` has a reader for each format."""

from __future__ import annotations
