"""Dialogue: an agent talks to simulated users, scored by state, facts and licensed calls (FlowBench, FlowAgent)."""
