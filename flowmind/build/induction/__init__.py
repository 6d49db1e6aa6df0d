"""Induction: traces become a structured program, without a model.

Everything is measured in bits: the program with the shortest description of the traces is the likeliest. `runs` reads
traces, `reading` reads the task's text, `scopes` has the variables at each visit of a place, and `bits` the costs.
`features`, `values`, `aggregates` and `conditions` explain values and decisions by expressions of the workflow
language. `skeleton` finds the calls, branches and loops, which `program` describes, and `emission` writes the workflow.
`induce` puts these together.
"""
