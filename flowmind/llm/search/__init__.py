"""The embedded model `search`. It is not a language model; it is deterministic and offline.

It gets the requests of a language model and answers in the same form. It searches for a sequence of tool calls that
reproduces the examples, and tries the calls in a sandbox of its own.
"""
