"""The files that take longest begin first, so that no worker is left with one of them at the end."""

from __future__ import annotations

import gc

import pytest

gc.set_threshold(50_000, 20, 20)
"""Tests leave little garbage and much that stays, so that collections are many and find nothing."""

LONG = """
    results dialogue_runs benchmark maps durability report_page dialogue_build hostile_texts recording_servers
    python_export bench sessions_page architecture report expressions search imports hostile_input journal flags
    attack random_workflows libraries robustness sandbox structure experiments cli bad_input openai_chat span_imports
    induction verification durable serving pdl cross_case determinism worfbench jit_writes workflow_server init monty
    langgraph_export jit exports fuzzing serverless policy workers certify
"""
_RANK = {f"test_{name}.py": place for place, name in enumerate(LONG.split())}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Orders whole files; the tests of a file stay as they are."""
    items.sort(key=lambda item: _RANK.get(item.path.name, len(_RANK)))
