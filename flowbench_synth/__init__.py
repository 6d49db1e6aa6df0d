"""Builds FlowMind's synthetic benchmark from authored blueprints. It writes files; no other package imports it."""
