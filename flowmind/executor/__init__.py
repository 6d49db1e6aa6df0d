"""Runs workflows: compiles one to a Python function, executes it through a sandbox, writes a `Trace`."""
