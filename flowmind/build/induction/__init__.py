"""Induction: traces become a workflow, without a model.

The modules form a chain; each imports from those before it. `wording` reads the task's text. `control_flow` lays calls
out on sites and loops. `terms` lists the sources of values, `expressions` computes with them, `loops` has the values
that loops carry, and `provenance` binds each argument and the answer to a source. `conditions` finds what separates the
ways of a place. `planning` puts bindings, assignments and conditions together, and `refinement` adds places without
calls. `emission` writes the workflow, `evidence` the steps that support it, and `search` compares layouts.
"""
