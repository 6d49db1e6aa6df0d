# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Notebook: use the benchmark
#
# An agent of your own works on one task of the benchmark. A workflow is made from its traces and scored on the held-out
# tests. The folder `bench` is built by `flowbench_synth build --seed 0 --out bench`.

# %%
from pathlib import Path

from flowmind import Trace, summarize
from flowmind.trace.events import Called
from flowmind.trace.task import Benchmark, benchmark_tools
from tools_registry.sandbox.environments import LocalSandbox
from tools_registry.specs.spec import ToolCall

folder = Path("bench")
benchmark = Benchmark.load(folder)
task = next(task for task in benchmark.tasks if task.id == "math_bargain_box")
tests = benchmark.tests[task.id]
print(task.text())

# %% [markdown]
# The function `agent` stands for your agent. Its tools run in FlowMind's sandbox.

# %%
tools = [benchmark_tools(folder)[name] for name in task.tools]
sandbox = LocalSandbox(tools)


async def agent(prices, call):
    middle = await call("median_low", numbers=prices)
    box = await call("filter_below", numbers=prices, limit=middle)
    proceeds = await call("sum_numbers", numbers=box)
    return await call("floor_divide", dividend=proceeds, divisor=7)


async def trace_of(inputs):
    calls = []

    async def call(tool, **arguments):
        called = ToolCall(tool=tool, args=arguments)
        observation = await sandbox.call(called)
        calls.append(Called(call=called, observation=observation))
        return observation.value

    answer = await agent(**inputs, call=call)
    return Trace(inputs=inputs, events=tuple(calls), stop="finish", answer=answer)


traces = [await trace_of(test.input) for test in tests]
print(sum(trace.answer == test.output for trace, test in zip(traces, tests, strict=True)), "of", len(tests), "right")

# %% [markdown]
# A workflow is made from the traces of the examples, which are not among the tests.

# %%
result = summarize([await trace_of(example.input) for example in task.examples], tools, query=task.query)
result.workflow

# %% [markdown]
# Two examples are little evidence. The workflow gives the right answers and says that it is in doubt.

# %%
workflow = result.workflow.when_in_doubt("mark")
for test in tests:
    given = workflow(test.input)
    print(given.answer, "expected", test.output, "- in doubt" if given.doubt else "")
