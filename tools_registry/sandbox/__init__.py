"""Environments for tools: worker processes for untrusted source, the host process for your own functions."""
