"""Where tools run: worker processes, and one's own functions."""
