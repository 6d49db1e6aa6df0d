"""Verification: candidate workflows are run on the task's examples, never on tests, and mended where they fail.

`trials` runs candidates and chooses the best one. `repair` asks a model for what the traces leave open, or lets an
agent edit the graph. `probes` executes generated inputs on which candidates disagree.

Sources: FlowMind, table 8 (115 right executions, 44 right workflows); counter-examples as in inductive synthesis
(Solar-Lezama et al., Combinatorial Sketching, 2006).
"""
