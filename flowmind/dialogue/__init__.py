"""Dialogue: agents that talk to a user, procedures that they are kept to, and simulated users."""
