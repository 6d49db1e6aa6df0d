"""Workflow graphs in the form of WorFBench, built from traces (Qiao et al., ICLR 2025, sections 2.2 and 2.3)."""
