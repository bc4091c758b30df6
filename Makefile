# All targets use one environment, .venv, and are quick and harmless to run again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DATA := $(VENV)/.real-data
# The environment's programs come first: Spark's scripts and its workers look up `python3`.
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport PYTHONPATH SPARK_HOME SPARK_CONF_DIR PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON
# What is compiled is kept: each planner would take a second more to begin.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv constraints links jar setup docs format lint type unit check test test-all nightly test-clients test-superset golden campaign campaign-values demo demo-stream demo-kafka demo-warehouse benchmark benchmark-quick benchmark-growth benchmark-cluster clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## virtual environment with all dependencies

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "environment: creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "environment: installing dependencies (Spark alone is 400 MB; some minutes the first time)"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,demo]'
	@touch $@

$(DATA): $(STAMP)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[real-data]'
	@touch $@

constraints: venv ## the newest dependencies that pyproject.toml allows: into the environment and constraints.txt
	@$(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[dev,demo,real-data]'
	@$(BIN)/python -m pip freeze --all --exclude pip --exclude-editable > constraints.txt

links: venv ## what type checkers see: one table_store/ tree of symbolic links
	@mkdir -p build/typing/table_store
	@find build/typing/table_store -maxdepth 1 -type l -delete
	@ln -sfn $(addprefix $(CURDIR)/,$(wildcard table_store/*.py table_store/py.typed)) \
		$(CURDIR)/catalog $(CURDIR)/client $(CURDIR)/conf $(CURDIR)/sql_ext $(CURDIR)/storage build/typing/table_store/

jar: venv ## compile the bridge (only when its sources changed)
	@$(BIN)/python catalog/bridge/bridge_jar.py

setup: jar ## jar, Delta and configuration into the environment's Spark
	@$(BIN)/table-store setup --yes

docs: venv ## write options, error conditions and rooms into the pages; build the site, links checked
	@$(BIN)/python -m page_writers
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict # with --quiet it would not count warnings

format: venv ## rewrite the sources in house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/python build_backend/scala_format.py

SCALA := $(shell find catalog/bridge -name '*.scala')
build/scalafmt/checked: .scalafmt.conf $(SCALA) | venv
	@$(BIN)/python build_backend/scala_format.py --test
	@touch $@

lint: links build/scalafmt/checked ## ruff, import-linter and scalafmt
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@cd build/typing && $(CURDIR)/$(BIN)/lint-imports --config $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.import_linter_cache

type: links ## mypy, strict
	@$(BIN)/mypy

# The slow ones come first, and who has nothing left to do takes over what another has not begun.
unit: venv ## tests that start no process
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/property tests/unit

# What belongs to which of these three is said in tests/tiers.py.
check: lint type unit ## everything quick: under two minutes

# Half of what fault tests do is to open and sync files: in memory, where there is room.
IN_MEMORY := $(shell test "$$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -gt 8000000 2>/dev/null && echo TMPDIR=/dev/shm)
# A third of what they do is to wait: three of them keep two cores busy.
WITH_PROCESSES := -n 3 --dist loadscope --no-loadscope-reorder --durations=30
test: lint type setup ## also contracts, Spark, a sample of crashes and of Kafka: ten minutes at most
	@env $(IN_MEMORY) $(BIN)/python -m pytest $(WITH_PROCESSES) -m core tests

test-all: lint type setup ## everything but what is named for the night: 55 minutes at most
	@env $(IN_MEMORY) $(BIN)/python -m pytest $(WITH_PROCESSES) -m 'not nightly' tests

nightly: setup ## the slowest tests, which no other target runs: an hour at most
	@env $(IN_MEMORY) $(BIN)/python -m pytest $(WITH_PROCESSES) -m nightly tests

CLIENTS := .venv-clients
test-clients: setup ## dbt's own suite, SQLAlchemy and pandas against a Thrift server, in an environment of their own; some minutes
	@test -x $(CLIENTS)/bin/python || { echo "environment: creating $(CLIENTS)"; $(PYTHON) -m venv $(CLIENTS); }
	@$(CLIENTS)/bin/python -m pip install --quiet './dbt-table-store[test]'
	@$(CLIENTS)/bin/python -m pip install --quiet --no-deps --force-reinstall ./dbt-table-store
	@$(CLIENTS)/bin/python -P -m pytest -q --durations=10 -c dbt-table-store/pyproject.toml dbt-table-store/tests $(ARGS)

SUPERSET := .venv-superset
test-superset: setup ## Superset itself against a Thrift server, in an environment of its own (800 MB); a minute after that
	@test -x $(SUPERSET)/bin/python || { echo "environment: creating $(SUPERSET)"; $(PYTHON) -m venv $(SUPERSET); }
	@$(SUPERSET)/bin/python -m pip install --quiet --requirement dbt-table-store/superset_tests/requirements.txt
	@$(SUPERSET)/bin/python -m pip install --quiet --no-deps --force-reinstall ./dbt-table-store
	@$(SUPERSET)/bin/python -P -m pytest -q --durations=5 -c dbt-table-store/pyproject.toml dbt-table-store/superset_tests $(ARGS)

golden: setup ## all of Spark's golden files with tables against plain Spark, half an hour; FILES='<regular expression>' for some
	@GOLDEN_FILES='$(or $(FILES),.*)' $(BIN)/python -m pytest -q -n 0 tests/integration/test_golden_files.py $(ARGS)

campaign: $(DATA) ## faults of every kind for hours; resumable, ARGS="--minutes 10 --seed 2", see --help
	@env $(IN_MEMORY) $(BIN)/python -m tests.campaign $(ARGS)

VALUES := python-filters python-shapes python-retries spark-two-faces spark-assignments spark-expressions \
	spark-stored-expressions spark-key-changes spark-view-values spark-random-sql spark-nested spark-views \
	spark-real-data spark-foreign-files
campaign-values: setup $(DATA) ## values and settings of every kind against Spark, DuckDB and models, two hours; resumable, ARGS="--minutes 10 --seed 2"
	@env $(IN_MEMORY) $(BIN)/python -m tests.campaign --minutes 120 --only $(VALUES) $(ARGS)

demo: setup ## set everything up, then show it on real data through the stock spark-sql
	@$(BIN)/python -m demo.run

demo-stream: setup ## streaming jobs in a job runner, one barrier for every query, the runner killed, a revision; 2 minutes
	@$(BIN)/python -m demo.stream

demo-kafka: setup ## a real Kafka broker: topics, a stream beside statements, CHANGES
	@$(BIN)/python -m demo.changes

demo-warehouse: setup ## a busy MariaDB followed into layers, a topic and a dashboard; a correction, a killed runner; 4 minutes
	@$(BIN)/python -m demo.warehouse $(ARGS)

benchmark: setup ## 10 million rows beside plain Parquet and Delta, merges, the log, streams; table, JSON, plot
	@$(BIN)/python -m tests.benchmark.run

benchmark-quick: setup ## the life of a table and the log with 500,000 rows, three repetitions; under 5 minutes
	@$(BIN)/python -m tests.benchmark.run --rows 500000 --upserts 2 --repeats 3 --memory 3g --only table-life log

benchmark-growth: setup ## time and memory at 1 to 30 million rows and 10 to 1,000 commits, beside plain Parquet
	@$(BIN)/python -m tests.benchmark.growth.run

benchmark-cluster: setup ## two executors beside one, on a cluster of this machine's processes
	@$(BIN)/python -m tests.benchmark.cluster

clean: ## remove build products (not the environment)
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	@rm -f catalog/bridge/*.jar
