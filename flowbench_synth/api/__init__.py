"""The suite `api`: tasks of agents against interfaces that hold records, with reads and writes over a state."""

from flowmind.trace.stateful import judge, load, opened

__all__ = ["judge", "load", "opened"]
