"""The embedded model `search`: no language model, no weights, no network, deterministic.

It gets what a language model gets, the conversation and the tool specs, and answers in the same protocol. Its
thinking is a search for a sequence of tool calls that reproduces the examples, tried in a sandbox of its own.
"""
