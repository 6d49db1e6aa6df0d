"""Writes the published schemas again."""

from flowmind.workflow.schemas import main

main()
