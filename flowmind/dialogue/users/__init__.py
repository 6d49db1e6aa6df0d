"""Simulated users: their goals, what they understand of an agent, and what they say."""
