"""Verified summarization: a workflow is derived from traces, run on the task's examples, and mended where it fails.

What the traces determine is derived (`flowmind.build.induction`); a model is asked only for conditions that they leave
open. The draft is run on the examples, never on tests. What fails is a counter-example, and is mended in the order of
what it costs: another candidate for a condition, another execution, a question, an edit by the graph tools.

Sources: FlowMind, table 8 (115 right executions, 44 right workflows); counter-examples as in inductive synthesis
(Solar-Lezama et al., Combinatorial Sketching, 2006).
"""
