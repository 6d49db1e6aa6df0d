"""Builds FlowMind's synthetic benchmark from authored blueprints. It writes files and is imported by nobody."""
