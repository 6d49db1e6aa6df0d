# FlowMind. Every target sets up .venv first when needed.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
MODEL ?= search
MODE ?= es-pe
BENCH ?= bench
OUT ?= runs/$(subst /,_,$(MODEL))-$(MODE)
CONCURRENCY ?= 4
SEED ?= 0
LIMIT ?=
RUN ?= $(OUT)
MAKEFLAGS += --no-print-directory

.PHONY: help setup exp test check report clean
help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */  make \1|/' | column -t -s '|'
	@echo "  exp takes MODEL=$(MODEL) MODE=$(MODE) LIMIT=n OUT=dir BENCH=dir CONCURRENCY=n SEED=n"

setup: $(VENV)/.ready  ## make .venv and install the project into it

$(VENV)/.ready: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

exp: $(VENV)/.ready $(BENCH)/manifest.json  ## run an experiment, resumed by the same command
	@$(BIN)/flowmind exp --model $(MODEL) --mode $(MODE) --out $(OUT) --bench $(BENCH) \
	  --concurrency $(CONCURRENCY) --seed $(SEED) $(if $(LIMIT),--limit $(LIMIT))

$(BENCH)/manifest.json: | $(VENV)/.ready
	@$(BIN)/flowbench_synth build --seed 0 --out $(BENCH)

test: $(VENV)/.ready  ## the tests
	@$(BIN)/python -m pytest -n 2

check: $(VENV)/.ready  ## format, lint, types
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet . && $(BIN)/pyright

report: $(VENV)/.ready  ## the tables of RUN=dir, made again from its records
	@$(BIN)/flowmind report $(RUN)

clean:  ## remove .venv, the built benchmark and caches (runs stay)
	rm -rf $(VENV) bench build *.egg-info .pytest_cache .ruff_cache .hypothesis
