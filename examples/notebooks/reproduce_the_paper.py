# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Notebook: reproduce the paper
#
# The paper compares agents that write a workflow while they solve a task with agents that first execute and then
# summarize. This notebook runs two modes on six tasks of the benchmark with the embedded model `search`, which is no
# language model. With `--model` and `--base-url` the same commands measure a served model.

# %%
import json
from pathlib import Path

from IPython.display import SVG

from experiments.folder import Run
from experiments.loading import load
from flowmind.formats.svg import to_svg

# %% [markdown]
# The first command builds the benchmark if the folder `bench` does not exist. A command that is given again continues
# its run.

# %%
# !flowmind exp --mode react --limit 6 --out runs/react

# %%
# !flowmind exp --mode es-pe --limit 6 --out runs/es-pe

# %% [markdown]
# The folder of a run has a record for each task.

# %%
for run in load([Path("runs/react"), Path("runs/es-pe")]):
    for record in run.everything:
        right = sum(test.passed for test in record.tests)
        print(f"{run.mode:6} {record.id:32} {record.difficulty:8} {right} of {len(record.tests)} tests")

# %% [markdown]
# A workflow of the second run, as it was summarized from the execution:

# %%
run = Run(Path("runs/es-pe"))
passed = next(record for record in run.records().values() if record.passed)
SVG(to_svg(run.workflow(passed.id)))

# %% [markdown]
# The summary has the rates with their intervals; `flowmind report runs` writes them as tables and as an HTML page.

# %%
json.loads(Path("runs/es-pe/summary.json").read_text())["case_pass_rate"]
