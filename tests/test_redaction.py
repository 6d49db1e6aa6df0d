"""No key and no password reaches a file, a terminal or an error, also when the server repeats it."""

from __future__ import annotations

import base64
import json
import re
import shutil
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny import called, capable, records, tiny_benchmark, with_server

from flowmind.base.errors import ModelUnavailable
from flowmind.base.texts import one_line
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.llm.fingerprints import fingerprint
from flowmind.llm.models import reach
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.llm.redaction import MARK, Redactor, redactor
from flowmind.llm.testing import completion

KEY = "sk-Proj_aB3/x+9zQ0-1234567890"
PASSWORD = "p@ss/w0rd!"

FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": lambda key: "".join(f"\\u{ord(letter):04x}" for letter in key),
    "JSON, one letter": lambda key: key.replace("-", "\\u002D"),
    "JSON in JSON": lambda key: json.dumps(json.dumps("".join(f"\\u{ord(letter):04X}" for letter in key)))[1:-1],
    "Python": lambda key: "".join(f"\\x{ord(letter):02x}" for letter in key),
    "slashes": lambda key: key.replace("/", "\\/"),
    "URL": lambda key: urllib.parse.quote(key, safe=""),
    "HTML": lambda key: "".join(f"&#{ord(letter)};" if letter.isalpha() else f"&#x{ord(letter):x};" for letter in key),
    **{
        f"base64 after {begin!r}": lambda key, begin=begin: base64.b64encode(f"{begin}{key}, it was".encode()).decode()
        for begin in ("", "a", "me:")
    },
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_recognized_in_each_form(form: str) -> None:
    told = Redactor([KEY]).text(f'It is "{FORMS[form](KEY)}" today.')
    assert MARK in told and told.startswith('It is "') and told.endswith('" today.')
    assert not leaks(told.encode(), KEY)


def test_other_texts_stay_as_they_are() -> None:
    headers = {"authorization": "Bearer EMPTY", "accept": "anything"}
    secrets = redactor(headers, "http://me:a@host/v1?version=2024-05-01")
    text = 'an EMPTY list, a \\"word\\" of anything, 2024-05-01, 50%25, &#65; none'
    assert secrets.text(text) == text
    assert Redactor([KEY]).text(text) == text
    assert Redactor([KEY]).value({"a": [1, None, {KEY: f"x{KEY}"}]}) == {"a": [1, None, {MARK: f"x{MARK}"}]}


def test_text_around_a_secret_stays_valid_json() -> None:
    text = json.dumps({"a": f"\n{KEY}\\", "b": json.dumps({"c": KEY})})
    assert json.loads(Redactor([KEY]).text(text)) == {"a": f"\n{MARK}\\", "b": json.dumps({"c": MARK})}


@pytest.mark.parametrize("text", ["\\" * 300_000, "\\s" * 150_000, "&#0" * 100_000, "%73" * 100_000])
def test_a_text_of_escapes_is_read_once(text: str) -> None:
    assert Redactor([KEY]).text(text) == text


def leaks(data: bytes, *secrets: str) -> list[str]:
    """The secrets in some bytes: plain, in base64, or with any characters escaped."""
    text, before = data.decode(errors="replace"), ""
    encoded = {base64.b64encode(f"{begin}{secret}".encode()).decode() for secret in secrets for begin in ("", "me:")}
    forms = {*secrets, *(form.rstrip("=")[:-1] for form in encoded)}
    shown: set[str] = set()
    while text != before:
        shown |= {form for form in forms if form in text or form in text.replace("\\", "")}
        before = text
        text = re.sub(r"\\+u00([0-9a-fA-F]{2})|\\+x([0-9a-fA-F]{2})|%([0-9a-fA-F]{2})", unescaped, text)
    return sorted(shown)


def unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2] or match[3], 16))


def echoes(secret: str) -> Iterator[Fault | str]:
    """Answers that repeat a secret wherever a server can."""
    for form in FORMS.values():
        yield f"The key is {form(secret)}."
        said = form(secret)
        yield f'{{"reasoning": "{said}", "action": "{said}", "action_input": {{"{said}": "{said}"}}}}'
    shown = json.dumps({"reasoning": "so", "action": "add", "action_input": {"first": secret, "second": 1}})
    yield shown
    halves = [{"type": "text", "text": secret[:9]}, {"type": "text", "text": secret[9:]}]
    yield Fault(body=json.dumps({"choices": [{"message": {"content": halves}}]}))
    call = {"function": {"name": f"t{secret}", "arguments": json.dumps({secret: [secret]}).replace("-", "\\u002d")}}
    yield Fault(body=json.dumps({"choices": [{"message": {"content": None, "tool_calls": [call]}}]}))
    yield Fault(body=completion(shown).encode("utf-16"))
    yield Fault(body=json.dumps({"choices": [{"message": {"content": {"a": secret}}}]}))
    yield Fault(500, f"<html><title>{secret}</title></html>")
    yield Fault(200, f"<html><title>{secret}</title></html>")
    yield Fault(429, json.dumps({"error": {"message": "x" * 280 + secret}}), {"Retry-After": "0"})
    yield Fault(503, json.dumps({"error": {"message": FORMS["JSON in JSON"](secret)}}))
    yield Fault(302, "", {"Location": f"ftp://{urllib.parse.quote(secret, safe='')}@host/{secret}"})
    yield Fault(200, "x", {"Content-Encoding": secret})
    yield Fault(200, "x", {"Transfer-Encoding": secret})
    yield Fault(400, json.dumps({"error": {"message": f"the context length of {secret} is exceeded"}}))
    yield Fault(422, json.dumps({"error": {"message": f"{secret} is wrong"}}))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_benchmark(tmp_path_factory.mktemp("tiny") / "bench")


def secret_of(where: str, server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The secret, and the URL of the server with or without it."""
    if where == "key":
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        return KEY, server.url
    quoted = urllib.parse.quote(PASSWORD, safe="")
    if where == "password":
        return PASSWORD, server.url.replace("://", f"://me:{quoted}@")
    return PASSWORD, f"{server.url}?api_key={quoted}"


@pytest.mark.parametrize("where", ["key", "password"])
def test_a_run_against_a_server_that_repeats_the_secret_keeps_none(
    where: str, bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = KEY if where == "key" else PASSWORD
    answers = echoes(secret)
    run = tmp_path / "run"

    def answer(number: int, body: dict[str, Any]) -> Fault | str:
        try:
            return next(answers, None) or capable(body)
        except IndexError:  # it has said more than it has to say
            return "nothing more"

    def pause(self: OpenAIChat, attempt: int) -> float:
        return 0.001

    monkeypatch.setattr(OpenAIChat, "_pause", pause)
    with FaultyServer(answer, owner=f"owned by {secret}") as server:
        secret, url = secret_of(where, server, monkeypatch)
        words = [*with_server(url, bench, run), "--limit", 8, "--max-turns", 30]
        done = [called(*words), called(*words)]
        assert next(answers, None) is None, "the server has repeated it in each way"
        authorization = {headers.get("authorization", "") for _, headers in server.heads}
    plain = f"Bearer {KEY}" if where == "key" else f"Basic {base64.b64encode(f'me:{PASSWORD}'.encode()).decode()}"
    assert authorization == {plain}
    assert MARK in "".join(path.read_text() for path in run.glob("exchanges/*.jsonl"))
    for path in (path for path in run.rglob("*") if path.is_file()):
        assert not leaks(path.read_bytes(), secret), path
    for output in (*(text for each in done for text in (each.stdout, each.stderr)), caplog.text):
        assert not leaks(output.encode(), secret), output
    report = called("report", run)
    assert report.returncode == 0
    assert not leaks((run / "report.html").read_bytes() + (report.stdout + report.stderr).encode(), secret)
    whole = records(run)
    again = shutil.copytree(run, tmp_path / "again")
    assert called("exp", "--replay", again, "--bench", bench).returncode in (0, 1)
    for new, old in zip(records(again), whole, strict=True):
        assert new == old, [(key, new[key], old[key]) for key in new if new[key] != old[key]]


@pytest.mark.parametrize("status", [401, 403, 404])
@pytest.mark.parametrize("where", ["key", "password", "query"])
def test_a_refusal_that_repeats_the_secret_does_not_show_it(
    where: str, status: int, bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultyServer(
        lambda number, body: Fault(status, json.dumps({"error": {"message": f"no {secret} here"}}))
    ) as server:
        secret, url = secret_of(where, server, monkeypatch)
        done = called(*with_server(url, bench, tmp_path / "run"))
    assert done.returncode == 2
    assert not leaks((done.stdout + done.stderr).encode(), secret, urllib.parse.quote(secret, safe="")), done.stderr
    for path in (path for path in (tmp_path / "run").rglob("*") if path.is_file()):
        assert not leaks(path.read_bytes(), secret)


@pytest.mark.parametrize(
    "url",
    [
        "http://me:p@ss/w0rd!@127.0.0.1:1/v1", "http://me:p%40ss%2Fw0rd!@127.0.0.1:1/v1", "ftp://me:p@ss/w0rd!@host",
        "http://p@ss/w0rd!@host:port/v1", "http://127.0.0.1:1/v1?key=p@ss/w0rd!",
    ],
)  # fmt: skip
def test_a_password_in_a_url_is_not_in_the_error(url: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        reach("m", url)
    for text in (str(caught.value), one_line(f"at {url} there is nothing")):
        assert "w0rd" not in text and "p%40ss" not in text and "p@ss" not in text


def test_the_list_of_models_is_read_with_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FaultyServer(lambda number, body: "", owner=f"{KEY} {PASSWORD}") as server:
        url = server.url.replace("://", f"://me:{urllib.parse.quote(PASSWORD, safe='')}@")
        endpoint = reach("m", url)
        known = fingerprint(url, "m")
        with pytest.raises(ModelUnavailable, match=r"serves m; pass one of these"):
            reach("other", url)
    assert known["owned_by"] == f"{MARK} {MARK}"
    assert not leaks(repr(endpoint).encode(), KEY, PASSWORD, "p%40ss")


def test_the_doctor_does_not_show_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(lambda number, body: "", models=("any",)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("://", "://me:p%40ssword@"))
        done = called("doctor")
    assert "http://***@127.0.0.1" in done.stdout and " answers" in done.stdout
    assert not leaks((done.stdout + done.stderr).encode(), "p%40ssword", "p@ssword")
