"""Writes the published schemas again."""

from flowmind.schemas import main

main()
