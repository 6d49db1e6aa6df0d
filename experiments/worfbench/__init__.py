"""WorFBench: a model writes workflows as Node/Edge text, scored against gold by WorFEval (Qiao et al., ICLR 2025)."""
