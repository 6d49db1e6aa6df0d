"""The workflow document and what reads it: the graph, the checker, the expression language, compiled programs."""
