"""Frames: anything but strict JSON from a worker is refused."""

import json
import math
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_registry.sandbox.frames import HEADER, MAX_FRAME, FrameError, decode, encode, size_of
from tools_registry.specs.values import MAX_DEPTH, CaseError, clean

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
    assert size_of(frame[:HEADER]) == len(frame) - HEADER
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
        (b'{"a": 1, "a": 1}', "a key twice"),
        (b'[{"b": [{"a": 1, "c": 2, "a": 3}]}]', "a key twice"),
        (str(2**1024).encode(), "more than 1024 bits"),
        (b'{"a": -' + b"9" * 310 + b"}", "more than 1024 bits"),
        (b"9" * 5_000, "not strict JSON"),
        (b'"\\ud800"', "half a character"),
        (b'{"\\uDFFF": 1}', "half a character"),
        (nested(61).encode(), "nested deeper than 60"),
        (nested(100_000).encode(), "not strict JSON"),
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
    assert size_of(MAX_FRAME.to_bytes(HEADER, "big")) == MAX_FRAME
    with pytest.raises(FrameError, match="at most 256000000 are allowed"):
        size_of((MAX_FRAME + 1).to_bytes(HEADER, "big"))


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
