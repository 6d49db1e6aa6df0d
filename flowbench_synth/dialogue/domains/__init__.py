"""The roles of the dialogue benchmark: a module for each role, and its tools in `<role>_tools.py`."""
