"""From traces to a workflow: the draft and its graph tools, induction, verification."""
