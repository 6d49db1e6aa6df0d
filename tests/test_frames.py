"""Frames: anything but strict JSON from a worker is refused."""

import json
import math
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_registry.sandbox import frames
from tools_registry.sandbox.frames import HEADER, FrameError, encode, fits, size_of
from tools_registry.specs.values import MAX_DEPTH, CaseError, clean

LIMIT = 2_000_000


def decode(body: bytes) -> Any:
    return frames.decode(body, LIMIT)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(texts, parts, max_size=4),
    max_leaves=20,
)


def nested(depth: int) -> str:
    return "[" * depth + "1" + "]" * depth


@settings(max_examples=150, derandomize=True, deadline=None)
@given(values)
def test_what_is_encoded_is_decoded(value: Any) -> None:
    frame = encode(value)
    assert size_of(frame[:HEADER], LIMIT) == len(frame) - HEADER
    assert repr(decode(frame[HEADER:])) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        "a [[[[ { text", "[" * 200, '\\" {', "\\ud800 spelled out", "9" * 400, "e999", "\u2028 é",
        [1e300, -1e-300, 2**1024 - 1],
    ],
)  # fmt: skip
def test_a_value_that_only_looks_unusual_passes(value: Any) -> None:
    assert decode(encode(value)[HEADER:]) == value
    assert decode(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "not strict JSON"),
        (b"[1] 2", "not strict JSON"),
        (b"{'a': 1}", "not strict JSON"),
        (b"\xff", "not strict JSON"),
        (b"\xef\xbb\xbf[]", "not strict JSON"),
        ("[]".encode("utf-16"), "not strict JSON"),
        (b"[NaN]", "NaN is not JSON"),
        (b"-Infinity", "-Infinity is not JSON"),
        (b"1e999", "beyond all bounds"),
        (b"[-1E+0400]", "beyond all bounds"),
        (b"1" + b"0" * 400 + b".5", "beyond all bounds"),
        (b"9" * 299 + b"e20", "beyond all bounds"),
        (b"[-" + b"9" * 220 + b".0E+99]", "beyond all bounds"),
        (b'{"a": 1, "a": 1}', "a key twice"),
        (b'[{"b": [{"a": 1, "c": 2, "a": 3}]}]', "a key twice"),
        (str(2**1024).encode(), "more than 1024 bits"),
        (b'{"a": -' + b"9" * 310 + b"}", "more than 1024 bits"),
        (b"9" * 5_000, "not strict JSON"),
        (b'"\\ud800"', "half a character"),
        (b'{"\\uDFFF": 1}', "half a character"),
        (nested(61).encode(), "nested deeper than 60"),
        (b"[[[", "brackets without a partner"),
        (b'[{"a":1]]', "not strict JSON"),
        (b']["', "brackets without a partner"),
        (nested(10_000).encode(), "nested deeper than 60"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested deeper than 60"),
    ],
)
def test_what_no_worker_sends_is_refused(body: bytes, problem: str) -> None:
    with pytest.raises(FrameError, match=problem):
        decode(body)


def test_the_deepest_value_fits_into_a_batch() -> None:
    deep = json.loads(nested(MAX_DEPTH))
    assert clean(deep) == deep
    assert decode(encode([[deep, None, [deep], -1]])[HEADER:]) == [[deep, None, [deep], -1]]


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.binary(max_size=40) | st.text('[]{}",:0129eE.+-\\udNaInfty ', max_size=40).map(str.encode))
def test_any_bytes_are_a_strict_value_or_a_frame_error(body: bytes) -> None:
    try:
        value = decode(body)
    except FrameError:
        return
    assert clean(value) == value


def test_an_announced_length_is_checked_before_anything_is_read() -> None:
    assert size_of(LIMIT.to_bytes(HEADER, "big"), LIMIT) == LIMIT
    with pytest.raises(FrameError, match="a frame of 2000001 bytes, at most 2000000 are allowed"):
        size_of((LIMIT + 1).to_bytes(HEADER, "big"), LIMIT)


@pytest.mark.parametrize(
    ("body", "size"),
    [
        (b"[" + b"[]," * 20_000 + b"[]]", True),
        (b"[" + b"[]," * 30_000 + b"[]]", False),
        (b'"' + b"x" * 1_300_000 + b'"', True),
        (b'"' + b"x" * 1_400_000 + b'"', False),
        (b'["' + b"[,:{" * 300_000 + b'"]', True),
        (b'["' + b'\\"[,' * 250_000 + b'"]', True),
        (b'["\\\\","' + b"[,:{" * 300_000 + b'"]', True),
        (b'["\\\\",' + b"[]," * 40_000 + b"0]", False),
    ],
)
def test_only_what_is_outside_of_strings_counts_as_a_value(body: bytes, size: bool) -> None:
    json.loads(body)
    assert fits(body, LIMIT) is size


def test_a_long_text_of_brackets_is_not_deep() -> None:
    for text in ("[" * 300_000, "]" * 300_000, '\\"[' * 100_000, "\\" * 200_001 + "["):
        assert decode(encode([text, {"a": text}])[HEADER:]) == [text, {"a": text}]


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.lists(st.text(st.sampled_from('a"\\[]{},:\n\u20ac'), max_size=12), max_size=30), st.integers(1, 50))
def test_a_skeleton_is_what_remains_without_strings(strings: list[str], chunk: int) -> None:
    body = json.dumps([{text: [text]} for text in strings]).encode()
    frames_chunk, frames._CHUNK = frames._CHUNK, chunk
    try:
        structure, quotes = frames._skeleton(body)
    finally:
        frames._CHUNK = frames_chunk
    assert (
        structure.replace(b" ", b"")
        == json.dumps([{"": [""]} for _ in strings]).replace('"', "").replace(" ", "").encode()
    )
    assert quotes == body.replace(b"\\\\", b"").replace(b'\\"', b"").count(b'"')


def test_only_json_is_sent() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode([math.inf])


def test_depth_is_judged_without_recursion() -> None:
    limit = sys.getrecursionlimit()
    body = b"[" * (limit // 3) + b"]" * (limit // 3)
    with pytest.raises(FrameError, match="nested deeper"):
        decode(body)


def test_the_error_of_a_value_and_of_a_frame_agree_on_integers() -> None:
    with pytest.raises(CaseError, match="1024 bits"):
        clean(2**1024)
    assert decode(str(2**1024 - 1).encode()) == 2**1024 - 1
