"""The store of a guarded workflow: versions, runs, calls, traces, audits and events in one SQLite file."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from flowmind.base.errors import FlowMindError, InputError
from flowmind.base.files import dump_json, path_of
from flowmind.base.secrets import Redaction
from flowmind.formats.traces.templates import Template
from flowmind.jit.knowledge import Knowledge
from flowmind.jit.versions import State, VersionRecord
from flowmind.trace.events import Trace
from flowmind.workflow.document import Workflow

IN_MEMORY = ":memory:"
_VERSION = 1
_WAIT = 60.0
"""The seconds that a statement waits for those of other processes."""
_TABLES = """
create table settings (name text primary key, value text not null) without rowid;
create table handles (
    name text primary key, query text not null, inputs text not null, specs text not null,
    request text not null default '', stamp integer not null default 0, derived_until real not null default 0
) without rowid;
create table versions (
    handle text not null, id text not null, state text not null, made real not null, workflow text not null,
    knowledge text not null, template text, request text not null default '', seconds real not null,
    by text not null default '', reason text not null default '',
    number integer not null, primary key (handle, id)
) without rowid;
create table runs (
    id text primary key, handle text not null, at real not null, kind text not null, version text, guard text,
    reason text, node text, inputs text not null, input_key text not null, answer text, error text,
    seconds real not null default 0, agent_seconds real, tokens integer,
    shadow text, verdict text, difference text
) without rowid;
create index runs_by_time on runs (handle, at);
create index runs_by_shadow on runs (handle, shadow, verdict);
create table calls (
    run text not null, seq integer not null, node text not null, tool text not null, args text not null, value text,
    error text, write integer not null, seconds real not null, primary key (run, seq)
) without rowid;
create table traces (
    id integer primary key, handle text not null, run text not null, at real not null, taught integer not null,
    input_key text not null, trace text not null
);
create index traces_by_handle on traces (handle, taught, id);
create table audits (
    run text primary key, handle text not null, version text not null, right integer, difference text not null,
    at real not null, seconds real not null, tokens integer
) without rowid;
create table events (
    id integer primary key, at real not null, handle text not null, kind text not null, detail text not null,
    hash text not null
);
create trigger events_are_kept before delete on events begin select raise(abort, 'events are never deleted'); end;
create trigger events_stay before update on events begin select raise(abort, 'events are never changed'); end;
"""
_FIRST = "0" * 64


class Event(NamedTuple):
    """An entry of the log, which is only appended to."""

    id: int
    at: float
    handle: str
    kind: str
    detail: dict[str, Any]


class RunRecord(NamedTuple):
    """A request and what became of it."""

    id: str
    handle: str
    at: float
    kind: str
    """`agent`: no version was live. `hit`: the workflow answered. `fallback`: a guard gave it to the agent. `stopped`,
    `handover`: a guard stopped it after a write, and nobody or the agent went on. `refused`: `mode="frozen"` and no
    agent. `failed`: the agent raised an exception. `open`, `open handover`: it has begun."""
    version: str | None
    guard: str | None
    reason: str | None
    node: str | None
    inputs: Any
    answer: Any
    error: str | None
    seconds: float
    """The duration of the workflow's run."""
    agent_seconds: float | None
    tokens: int | None
    shadow: str | None
    """The version that was rehearsed on the agent's calls."""
    verdict: str | None
    """What the rehearsal showed: `agreed`, `disagreed` or `guarded`."""
    difference: str | None


_RUN_COLUMNS = ", ".join(RunRecord._fields)


class Store:
    """A store, for the threads and processes of one host.

    Args:
        path: The file, which is made if it does not exist; `:memory:` for a store of this process.
        redact: Regular expressions of texts that are replaced before anything is stored, besides usual keys.
        make: Make the file if it does not exist.

    Raises:
        InputError: If the file is no store, or cannot be opened.
    """

    def __init__(self, path: str | Path = IN_MEMORY, redact: Sequence[str] = (), make: bool = True) -> None:
        self.path = None if str(path) == IN_MEMORY else path_of(path).absolute()
        self._mutex = threading.RLock()
        if self.path is not None and not make and not self.path.exists():
            raise InputError(f"{self.path}: no such file; give the store of flowmind.jit")
        try:
            self._database = sqlite3.connect(
                self.path or IN_MEMORY, _WAIT, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            self._prepare()
        except (sqlite3.Error, ValueError) as error:
            raise InputError(f"{self.path}: the store cannot be opened: {error}") from None
        salt = bytes.fromhex(self._setting("salt"))

        def mark(secret: str) -> str:
            return f"[redacted {hmac.new(salt, secret.encode(), hashlib.sha256).hexdigest()[:12]}]"

        self.redact: Callable[[Any], Any] = Redaction(redact, mark).value
        """Replaces secrets in a JSON value. Equal secrets have equal marks, which differ from store to store."""

    def _prepare(self) -> None:
        database = self._database
        database.execute("pragma journal_mode=wal")
        database.execute("pragma synchronous=normal")
        database.execute("begin immediate")
        try:
            (version,) = database.execute("pragma user_version").fetchone()
            (tables,) = database.execute("select count(*) from sqlite_master").fetchone()
            if version not in (0, _VERSION) or (version == 0 and tables):
                raise InputError(f"{self.path}: the file is not a store of version {_VERSION}; name another file")
            if not version:
                for statement in _statements(_TABLES):
                    database.execute(statement)
                database.execute("insert into settings values ('salt', ?)", (secrets.token_hex(32),))
                database.execute(f"pragma user_version={_VERSION}")
            database.execute("commit")
        except BaseException:
            database.execute("rollback")
            raise

    def _setting(self, name: str) -> str:
        return self._database.execute("select value from settings where name = ?", (name,)).fetchone()[0]

    def close(self) -> None:
        """Closes the file."""
        with self._mutex:
            self._database.close()

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Yields the database.

        Raises:
            FlowMindError: If it cannot be used.
        """
        with self._mutex:
            try:
                yield self._database
            except sqlite3.Error as error:
                raise FlowMindError(f"{self.path or 'the store'}: the store cannot be used: {error}") from None

    @contextmanager
    def changing(self) -> Generator[sqlite3.Connection]:
        """Yields the database in a transaction; one inside another belongs to the outer one.

        Raises:
            FlowMindError: If it cannot be used.
        """
        with self.reading() as database:
            if database.in_transaction:
                yield database
                return
            database.execute("begin immediate")
            try:
                yield database
                database.execute("commit")
            except BaseException:
                database.execute("rollback")
                raise

    # Handles

    def declare(self, name: str, query: str, inputs: Any, specs: Any, request: str = "") -> None:
        """Notes a handle, or its present query, inputs, tools and parameter with the request."""
        texts = (query, dump_json(inputs), dump_json(specs), request)
        with self.changing() as database:
            known = database.execute(
                "select query, inputs, specs, request from handles where name = ?", (name,)
            ).fetchone()
            if known is None:
                database.execute(
                    "insert into handles (name, query, inputs, specs, request) values (?, ?, ?, ?, ?)", (name, *texts)
                )
                self.log(name, "declared", {"query": self.redact(query)})
            elif known != texts:
                update = (
                    "update handles set query = ?, inputs = ?, specs = ?, request = ?, stamp = stamp + 1 where name = ?"
                )
                database.execute(update, (*texts, name))

    def handles(self) -> list[str]:
        """The names of the handles."""
        with self.reading() as database:
            return [name for (name,) in database.execute("select name from handles order by name")]

    def handle(self, name: str) -> tuple[str, Any, Any, str]:
        """The query, the schema of the inputs, the specs, and the parameter with the request of a handle.

        Raises:
            InputError: If there is none.
        """
        with self.reading() as database:
            row = database.execute(
                "select query, inputs, specs, request from handles where name = ?", (name,)
            ).fetchone()
        if row is None:
            raise InputError(
                f"{self.path}: there is no handle {name!r}; there are {', '.join(self.handles()) or 'none'}"
            )
        return row[0], json.loads(row[1]), json.loads(row[2]), row[3]

    def stamp(self, name: str) -> int:
        """A number that changes with the versions of a handle."""
        with self.reading() as database:
            row = database.execute("select stamp from handles where name = ?", (name,)).fetchone()
        return -1 if row is None else row[0]

    def lease(self, name: str, seconds: float) -> bool:
        """Takes the right to derive a version; false if it is taken."""
        now = time.time()
        with self.changing() as database:
            query = "update handles set derived_until = ? where name = ? and derived_until < ?"
            return database.execute(query, (now + seconds, name, now)).rowcount == 1

    def release(self, name: str) -> None:
        """Gives the right to derive a version back."""
        with self.changing() as database:
            database.execute("update handles set derived_until = 0 where name = ?", (name,))

    # Versions

    def versions(self, handle: str = "") -> list[VersionRecord]:
        """The versions of a handle, or of all, in the order in which they were derived first."""
        with self.reading() as database:
            columns = "id, handle, state, made, workflow, knowledge, template, request, seconds, by, reason"
            where = "where handle = ?" if handle else ""
            rows = database.execute(
                f"select {columns} from versions {where} order by number", (handle,) if handle else ()
            ).fetchall()
        return [
            VersionRecord(
                id=id,
                handle=name,
                state=state,
                made=made,
                workflow=Workflow.model_validate_json(workflow),
                knowledge=Knowledge.model_validate_json(knowledge),
                template=None if template is None else Template.model_validate_json(template),
                request=request,
                seconds=seconds,
                by=by,
                reason=reason,
            )
            for id, name, state, made, workflow, knowledge, template, request, seconds, by, reason in rows
        ]

    def put(self, version: VersionRecord) -> None:
        """Stores a version, or its present state and evidence."""
        fields = (
            version.state, version.made, version.workflow.to_json(), version.knowledge.model_dump_json(),
            None if version.template is None else version.template.model_dump_json(), version.request,
            version.seconds, version.by, version.reason,
        )  # fmt: skip
        with self.changing() as database:
            known = "select number from versions where handle = ? and id = ?"
            row = database.execute(known, (version.handle, version.id)).fetchone()
            last = database.execute("select coalesce(max(number), 0) from versions").fetchone()[0]
            number = last + 1 if row is None else row[0]
            database.execute(
                "insert or replace into versions "
                "(state, made, workflow, knowledge, template, request, seconds, by, reason, handle, id, number) "
                "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*fields, version.handle, version.id, number),
            )
            database.execute("update handles set stamp = stamp + 1 where name = ?", (version.handle,))

    def move(self, version: VersionRecord, state: State, by: str = "", reason: str = "") -> VersionRecord:
        """Changes the state of a version, and logs it."""
        moved = version.model_copy(update={"state": state, "by": by or version.by, "reason": reason})
        kinds = {"live": "promoted", "retired": "retired", "shadow": "demoted"}
        with self.changing():
            self.put(moved)
            self.log(version.handle, kinds[state], {"version": version.id, "by": by, "reason": self.redact(reason)})
        return moved

    # Runs

    def put_run(self, run: RunRecord, calls: Sequence[tuple[Any, ...]] = ()) -> None:
        """Stores a run with the calls that the workflow made: node, tool, args, value, error, write and seconds."""
        redact = self.redact
        inputs = redact(run.inputs)
        with self.changing() as database:
            row = run._asdict() | {
                "inputs": dump_json(inputs),
                "answer": dump_json(redact(run.answer)),
                "reason": redact(run.reason),
                "difference": redact(run.difference),
                "error": redact(run.error),
                "input_key": input_key(inputs),
            }
            names = ", ".join(row)
            marks = ", ".join("?" * len(row))
            database.execute(f"insert or replace into runs ({names}) values ({marks})", tuple(row.values()))
            rows = [
                (
                    run.id,
                    seq,
                    node,
                    tool,
                    dump_json(redact(args)),
                    dump_json(redact(value)),
                    redact(error),
                    write,
                    seconds,
                )
                for seq, (node, tool, args, value, error, write, seconds) in enumerate(calls)
            ]
            database.executemany("insert or replace into calls values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def run(self, id: str) -> RunRecord | None:
        """A run; None if there is none."""
        rows = self._runs("where id = ?", id)
        return rows[0] if rows else None

    def runs(self, handle: str = "", most: int = 50) -> list[RunRecord]:
        """The latest runs, the last one first."""
        if handle:
            return self._runs("where handle = ? order by at desc limit ?", handle, most)
        return self._runs("order by at desc limit ?", most)

    def _runs(self, where: str, *values: Any) -> list[RunRecord]:
        with self.reading() as database:
            rows = database.execute(f"select {_RUN_COLUMNS} from runs {where}", values).fetchall()
        records = [RunRecord(*row) for row in rows]
        return [row._replace(inputs=json.loads(row.inputs), answer=json.loads(row.answer)) for row in records]

    def calls(self, run: str) -> list[tuple[str, str, Any, Any, str | None, bool, float]]:
        """The calls of a run of a workflow: node, tool, args, value, error, write and seconds."""
        with self.reading() as database:
            columns = "node, tool, args, value, error, write, seconds"
            rows = database.execute(f"select {columns} from calls where run = ? order by seq", (run,)).fetchall()
        return [
            (node, tool, json.loads(args), json.loads(value), error, bool(write), seconds)
            for node, tool, args, value, error, write, seconds in rows
        ]

    def rehearsed(self, version: VersionRecord) -> tuple[int, int]:
        """The distinct inputs on which a version agreed with the agent in every rehearsal, and all that it finished."""
        query = """select count(*), coalesce(sum(wrong = 0), 0) from (
            select max(verdict = 'disagreed') as wrong from runs
            where handle = ? and shadow = ? and at >= ? and verdict in ('agreed', 'disagreed') group by input_key)"""
        with self.reading() as database:
            count, agreed = database.execute(query, (version.handle, version.id, version.made)).fetchone()
        return agreed, count

    # Traces

    def put_trace(self, handle: str, run: str, trace: Trace, taught: bool) -> None:
        """Stores an execution of the agent.

        Args:
            handle: The handle.
            run: The run.
            trace: The execution.
            taught: Whether versions are derived from it.
        """
        body = self.redact(trace.dump())
        fields = (handle, run, time.time(), int(taught), input_key(body.get("inputs", {})), dump_json(body))
        with self.changing() as database:
            columns = "handle, run, at, taught, input_key, trace"
            database.execute(f"insert into traces ({columns}) values (?, ?, ?, ?, ?, ?)", fields)

    def traces(self, handle: str, taught: bool = True, most: int = 1_000) -> list[Trace]:
        """The latest executions, in their order; of those with equal inputs the latest.

        Args:
            handle: The handle.
            taught: Only those that versions are derived from.
            most: The number.
        """
        query = f"""select trace from traces where id in (
            select max(id) from traces where handle = ? {"and taught" if taught else ""} group by input_key
            order by max(id) desc limit ?) order by id"""
        with self.reading() as database:
            rows = database.execute(query, (handle, most)).fetchall()
        return [Trace.model_validate_json(text) for (text,) in rows]

    def agent_cost(self, handle: str) -> tuple[int, float, int, int]:
        """The agent's own executions: their number, seconds, how many told their tokens, and these tokens."""
        query = """select count(agent_seconds), coalesce(sum(agent_seconds), 0), count(tokens), coalesce(sum(tokens), 0)
            from runs where handle = ? and kind in ('agent', 'fallback')"""
        with self.reading() as database:
            return database.execute(query, (handle,)).fetchone()

    # Audits

    def put_audit(
        self, run: str, handle: str, version: str, difference: str | None, seconds: float, tokens: int | None
    ) -> None:
        """Stores an audit.

        Args:
            run: The run that was audited.
            handle: Its handle.
            version: The version that answered.
            difference: What the agent did otherwise; empty if nothing, None if the audit could not be made.
            seconds: The time that the audit took.
            tokens: The tokens that it took, if they are known.
        """
        right = None if difference is None else int(not difference)
        row = (run, handle, version, right, self.redact(difference or ""), time.time(), seconds, tokens)
        with self.changing() as database:
            database.execute("insert or replace into audits values (?, ?, ?, ?, ?, ?, ?, ?)", row)

    # Events

    def log(self, handle: str, kind: str, detail: Mapping[str, Any]) -> None:
        """Appends an event. Its hash covers the one before."""
        with self.changing() as database:
            last = database.execute("select id, hash from events order by id desc limit 1").fetchone()
            number, before = (1, _FIRST) if last is None else (last[0] + 1, last[1])
            row = (number, time.time(), handle, kind, dump_json(self.redact(dict(detail))))
            database.execute("insert into events values (?, ?, ?, ?, ?, ?)", (*row, _chained(before, row)))

    def events(self, handle: str = "") -> Iterator[Event]:
        """The events, in order."""
        where, values = ("where handle = ?", (handle,)) if handle else ("", ())
        with self.reading() as database:
            rows = database.execute(f"select id, at, handle, kind, detail from events {where} order by id", values)
            events = [Event(id, at, name, kind, json.loads(detail)) for id, at, name, kind, detail in rows.fetchall()]
        yield from events

    def verify_events(self) -> int:
        """The number of events, whose chain of hashes is checked.

        Raises:
            InputError: If an event was changed, removed or inserted.
        """
        before, expected = _FIRST, 0
        with self.reading() as database:
            rows = database.execute("select id, at, handle, kind, detail, hash from events order by id").fetchall()
        for *row, known in rows:
            expected += 1
            if row[0] != expected or _chained(before, tuple(row)) != known:
                raise InputError(f"{self.path}: event {expected} was changed, removed or inserted after it was written")
            before = known
        return expected

    # Clean-up

    def clean(self, keep_days: float) -> int:
        """Deletes runs, calls, audits and executions that are older, and returns the number of runs.

        Executions that the latest versions were derived from stay, as do events and versions.
        """
        before = time.time() - keep_days * 86_400
        with self.changing() as database:
            database.execute("delete from calls where run in (select id from runs where at < ?)", (before,))
            database.execute("delete from audits where at < ?", (before,))
            database.execute("delete from traces where at < ? and not taught", (before,))
            count = database.execute("delete from runs where at < ?", (before,)).rowcount
            if count:
                self.log("", "cleaned", {"runs": count, "keep_days": keep_days})
        return count

    def compact(self) -> None:
        """Gives unused space back to the file system."""
        with self.reading() as database:
            database.execute("vacuum")


def input_key(inputs: Any) -> str:
    """Equal for equal inputs."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:24]


def _chained(before: str, row: Sequence[Any]) -> str:
    return hashlib.sha256(f"{before}\n{json.dumps(list(row))}".encode()).hexdigest()


def _statements(text: str) -> Iterator[str]:
    """The statements of a script; those of a trigger end with `end;`."""
    part = ""
    for line in text.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            yield part
            part = ""
