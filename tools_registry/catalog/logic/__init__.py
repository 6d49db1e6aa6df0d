"""Logic tools: comparisons, booleans, rules, sets, orderings, graphs, constraints and deduction."""
