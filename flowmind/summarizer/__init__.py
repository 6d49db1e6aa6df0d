"""The summarizer's world: a draft workflow that its tools edit, and the brief that shows it the traces.

The summarizer has no loop of its own: it is an agent, given a `DraftSandbox` and this brief.
"""
