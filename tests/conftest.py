"""The files that take longest begin first, so that no worker is left with one of them at the end."""

from __future__ import annotations

import gc

import pytest

gc.set_threshold(50_000, 20, 20)
"""Tests leave little garbage and much that stays, so that collections are many and find nothing."""

LONG = """
    dialogue_build benchmark durability attack experiments report report_page sessions_page random_workflows cli
    structure pdl python_export robustness bench dialogue_runs flags cross_case architecture
    serverless worfbench certify expressions search maps hostile_input determinism monty workers policy fuzzing
    tool_functions serving langgraph_export recording_servers jit journal workflow_server exports
"""
_RANK = {f"test_{name}.py": place for place, name in enumerate(LONG.split())}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Orders whole files; the tests of a file stay as they are."""
    items.sort(key=lambda item: _RANK.get(item.path.name, len(_RANK)))
