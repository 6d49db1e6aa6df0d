"""Workflows in other forms. Today: Mermaid flowcharts."""
