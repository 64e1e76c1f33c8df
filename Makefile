# Every target makes what it needs and nothing twice: the environment is built once for each change of pyproject.toml.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CONSTRAINTS ?= # a file of versions to keep to, such as constraints.txt; none: the newest that pyproject.toml allows
BENCH_READY := .venv-bench/.ready
MMM_READY := .venv-mmm/.ready

.PHONY: install demo test canary soak bench lint reproduction docs clean

install: $(READY)

$(READY): pyproject.toml $(CONSTRAINTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))
	touch $(READY)

demo: $(READY)
	$(BIN)/aftereffect reproduce --scale quick --out out/demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest -n 2 -m "not soak"

# What other libraries' releases would break first: their private parts that we use, the errors of the command line, installing.
canary: $(READY)
	$(BIN)/pytest -n 2 -m "not soak" tests/test_package.py tests/test_compile.py tests/test_kernel_cache.py tests/cli/test_mistakes.py

# The page docs/reproduction.md: every figure at the paper's scale, and the longer check; about half an hour on two cores.
reproduction: $(READY)
	$(BIN)/aftereffect reproduce all long --scale paper --out out/reproduction
	$(BIN)/python -m aftereffect.report.reproduction out/reproduction --docs docs

soak: $(READY)
	$(BIN)/pytest -n 2 -m soak

bench: $(READY) $(BENCH_READY) $(MMM_READY)
	$(BIN)/python -m bench --peers .venv-bench/bin/python --mmm .venv-mmm/bin/python --out docs/performance.md

$(BENCH_READY): bench/requirements.txt
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet -r bench/requirements.txt
	touch $(BENCH_READY)

# Apart from the other peers: it pins versions of its own.
$(MMM_READY): bench/requirements-mmm.txt
	test -x .venv-mmm/bin/python || $(PYTHON) -m venv .venv-mmm
	.venv-mmm/bin/python -m pip install --quiet -r bench/requirements-mmm.txt
	touch $(MMM_READY)

# The site, offline and strict: every page here, the generated ones and the public names' docstrings, with search; in out/site, a directory for each release.
docs: $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv .venv-known .venv-bench .venv-mmm out
