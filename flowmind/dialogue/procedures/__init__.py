"""Procedures: what an agent may do now, and controllers that keep it to that."""
