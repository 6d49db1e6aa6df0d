"""Generates the published schemas."""

from flowmind.workflow.schemas import main

main()
