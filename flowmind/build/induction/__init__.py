"""Induction: traces → workflow, without a model.

`structure` lays traces out on sites (which calls are one node), `terms` and `binding` say where each value came from,
`conditions` finds what decides between ways, `emitting` writes the workflow, `inducing` searches over the layouts.
"""
