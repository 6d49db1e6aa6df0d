"""`flowmind run --inputs`: a workflow on the rows of a file."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import tqdm

from flowmind.api.runnable import identity
from flowmind.base import parquet
from flowmind.base.errors import FlowMindError, InputError
from flowmind.base.files import dump_json
from flowmind.base.outputs import require_file
from flowmind.base.processes import HelperEnded
from flowmind.batches.results import Results
from flowmind.batches.rows import InputFile
from flowmind.batches.running import (
    Chunk,
    Ending,
    Failed,
    Running,
    Worked,
    evaluate,
    require_results,
    run_batch,
    summary,
)
from flowmind.cli.options import BatchOptions, SandboxOptions
from flowmind.cli.sandboxes import Sandboxes
from flowmind.llm.choosing import model_named
from flowmind.llm.limiting import Limit
from flowmind.maps.local import LocalMap
from flowmind.maps.processes import ProcessMap
from flowmind.maps.ray import RayMap
from flowmind.maps.sending import run_to_end
from flowmind.protocols import ChatModel, Map
from flowmind.run.compiler import needs_model
from flowmind.run.running import prepare
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.spec import Record, ToolSource

IN_AN_ACTOR = 2
"""The chunks in one actor: it works on one while the results of the other are on their way."""


class Model(Record):
    """The model of the `llm` nodes."""

    name: str
    base_url: str | None


class Sandboxed(Running):
    """A workflow with its tools in a sandbox, which is opened when it is first used."""

    def __init__(
        self,
        workflow: Workflow,
        tools: Sequence[ToolSource],
        sandbox: SandboxOptions,
        ending: Ending,
        model: Model | None,
        size: int = 1,
    ) -> None:
        super().__init__(workflow, ending)
        self.sandboxes = Sandboxes(sandbox, size, quiet=True)
        self._tools, self._sandbox, self._model = tools, sandbox, model

    def __reduce__(self) -> tuple[Any, ...]:
        return Sandboxed, (self.workflow, self._tools, self._sandbox, self.ending, self._model)

    @cached_property
    def environment(self) -> Environment:
        """The tools in their sandbox."""
        return self.sandboxes.of(self._tools)

    @cached_property
    def model(self) -> ChatModel | None:
        """The model of the `llm` nodes, if there are some."""
        if self._model is None:
            return None
        return model_named(self._model.name, self.environment, self._model.base_url)

    def close(self) -> None:
        """Stops the workers."""
        self.sandboxes.close()


def run_rows(
    options: argparse.Namespace,
    batch: BatchOptions,
    sandbox: SandboxOptions,
    workflow: Workflow,
    tools: Sequence[ToolSource],
) -> int:
    """Writes the results of all rows; 1 with `--fail-fast` if one has an error.

    Raises:
        InputError: If the flags do not fit together, a file cannot be read or written, or the results are those of
            another batch.
        FlowMindError: If the batch ended early; the results so far are kept.
    """
    path, target = batch.inputs, batch.results
    assert path is not None
    if target is None:
        raise InputError("--inputs: name a file for the results with --results")
    if options.trace:
        raise InputError("--trace: this is for one input; leave it out with --inputs")
    if sandbox.sandbox == "both":
        raise InputError("--sandbox both: this is for one input; choose one sandbox with --inputs")
    require_results(target)
    require_file("--results", target, path)
    if target.suffix == ".parquet":
        parquet.require()
    asks = needs_model(workflow)
    if asks and options.model is None:
        raise InputError("the workflow has llm nodes: name their model with --model")
    model = Model(name=options.model, base_url=options.base_url) if asks else None
    inputs = InputFile(path, workflow)
    workers = batch.workers or 1
    with Sandboxed(workflow, tools, sandbox, options.on_doubt, model, workers) as running:
        prepare(workflow, running.environment)
        print(running.sandboxes.choice.line, file=sys.stderr)
        used = sorted(({"source": tool.source, **tool.spec.model_dump(mode="json")} for tool in tools), key=dump_json)
        about = {
            "form": "flowmind/batch@1",
            "workflow": identity(workflow),
            "tools": hashlib.sha256(dump_json(used).encode()).hexdigest(),
            "inputs": inputs.sha256,
            "on_doubt": options.on_doubt,
            "model": options.model if asks else None,
        }
        with Results(target, about) as results:
            return _run(inputs, results, running, batch, asks)


def _run(inputs: InputFile, results: Results, running: Sandboxed, batch: BatchOptions, asks: bool) -> int:
    if not results.finished and not (batch.fail_fast and results.first_error is not None):
        rows = inputs.read(results.count)
        bar = tqdm.tqdm(total=inputs.rows, initial=results.count, unit="row", unit_scale=True, desc=inputs.path.name)
        try:
            with bar, _mapped(running, batch) as case_map:
                run_to_end(run_batch(rows, results, case_map, bar.update, asks, batch.fail_fast))
        except Failed:
            pass
        except HelperEnded as ended:
            raise FlowMindError(f"the workers ended again and again ({ended}); {_kept(results)}") from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted; {_kept(results)}") from None
        else:
            results.finish()
    if batch.fail_fast and results.first_error is not None:
        print(f"flowmind: {results.path}: row {results.first_error} has an error; {_kept(results)}", file=sys.stderr)
        return 1
    print(summary(results))
    return 0


def _kept(results: Results) -> str:
    return f"{results.count:,} results are in {results.path}, and the same command goes on from there"


@contextmanager
def _mapped(running: Sandboxed, batch: BatchOptions) -> Generator[Map[Chunk, Worked]]:
    """The map that the flags ask for."""
    if batch.map == "local":
        yield LocalMap(evaluate, running, Limit(batch.workers or 1))
    elif batch.map == "processes":
        with ProcessMap[Chunk, Worked](evaluate, running, batch.workers or os.cpu_count() or 1) as processes:
            yield processes
    else:
        address, workers = batch.ray_address, batch.workers
        with RayMap[Chunk, Worked](evaluate, running, address=address, workers=workers, each=IN_AN_ACTOR) as cluster:
            yield cluster
