# Every target sets up what it needs, in .venv/ and build/; a missing Java or venv module is installed with apt.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules
.DELETE_ON_ERROR:
.PHONY: help demo test quick thorough check map fuzz mutate bench docs dist cluster versions fmt clean java chromium classes build/mypy

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$python; break; fi; done)
BIN := .venv/bin
MILLION := docs/examples/million
CODE := compiler grammar runtime tests

# Tests start many processes, each of which would compile all modules that it loads.
unexport PYTHONDONTWRITEBYTECODE

help:  ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 16

demo: .venv/ready  ## a million events: matches in seconds, an explanation, and the same query on Spark
	@echo; echo "== twenty events: which instruments were used without being cleaned?"
	@$(BIN)/neelc run docs/examples/hospital/hospital.neel
	@echo; echo "== the same among 600,000 events, without a JVM: the first ten matches"
	@$(BIN)/python $(MILLION)/generate.py build/demo
	@$(BIN)/neelc run $(MILLION)/hospital.neel --stream Hospital=build/demo/hospital.parquet \
	  --out build/demo/alarms.csv --overwrite
	@head -n 11 build/demo/alarms.csv
	@echo; echo "== two patterns of 400,000 trades, without a key: time is cut into chunks"
	@$(BIN)/neelc run $(MILLION)/stocks.neel --stream Trades=build/demo/trades.parquet \
	  --query Rush --query Unanswered --out build/demo/trades.txt --overwrite
	@head -n 5 build/demo/trades.txt; echo ...; grep -A 4 Unanswered: build/demo/trades.txt
	@echo; echo "== neelc explain: the plan, and why"
	@$(BIN)/neelc explain $(MILLION)/hospital.neel --stream Hospital=build/demo/hospital.parquet
	@echo; echo "== the same query on Spark, which takes it to a cluster"
	@$(MAKE) java
	@$(BIN)/neelc run $(MILLION)/hospital.neel --stream Hospital=build/demo/hospital.parquet \
	  --engine spark --out build/demo/alarms-of-spark.csv --overwrite
	@cmp <(sort build/demo/alarms.csv) <(sort build/demo/alarms-of-spark.csv) && echo "Both engines found the same rows."
	@echo; echo "All matches are in build/demo. What ran: neelc compile --target duckdb $(MILLION)/hospital.neel"

test: .venv/ready java chromium classes  ## all tests
	@echo "running the tests"
	@$(BIN)/pytest -q -n 3 --dist loadgroup  # two Spark sessions; all else beside them

quick: .venv/ready  ## a sample of the tests that needs no Java, in less than two minutes
	@$(BIN)/pytest -q -n 2 --quick

thorough: .venv/ready java chromium classes  ## all tests, with those that take long: faults and variants over streams
	@$(BIN)/pytest -q -n 3 --dist loadgroup --thorough

check: .venv/ready build/mypy  ## lint, format and types
	@echo "ruff: lint and format"
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check . || { $(BIN)/ruff format --check .; exit 1; }
	@echo "mypy: types"
	@$(BIN)/mypy --no-error-summary build/mypy/neelc tests \
	  | sed 's#^build/mypy/neelc/\(grammar\|runtime\)/#\1/#; s#^build/mypy/neelc/#compiler/#'

map: .venv/ready  ## files and lines by package, and how far one query travels through them
	@$(BIN)/python tests/tree_map.py

fuzz: .venv/ready java  ## compare rewriting, then the kernel, with the reference: PAIRS=20000 SEED=1 RULES="..."
	@PYTHONPATH=tests $(BIN)/python -m fuzz --pairs $(or $(PAIRS),20000) --seed $(or $(SEED),1) --rules $(RULES)
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m kernel_fuzz --pairs $(or $(PAIRS),10000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m words_fuzz --pairs $(or $(PAIRS),10000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m local_fuzz --pairs $(or $(PAIRS),2000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m partial_fuzz --queries $(or $(QUERIES),1000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m kept_fuzz --pairs $(or $(PAIRS),10000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m conveniences_fuzz --pairs $(or $(PAIRS),2000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m complete_fuzz --queries $(or $(QUERIES),1000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m stream_fuzz --pairs $(or $(PAIRS),20000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m spark_stream_fuzz --pairs $(or $(SPARK_PAIRS),300) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m rules_fuzz --sets $(or $(SETS),10000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m rules_stream_fuzz --sets $(or $(SETS),2000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m rules_local_fuzz --sets $(or $(SETS),1000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m rules_spark_fuzz --sets $(or $(SPARK_SETS),200) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m rules_spark_fuzz --streaming --sets $(or $(SPARK_SETS),40) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m network_fuzz --pairs $(or $(PAIRS),3000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m sure_fuzz --queries $(or $(QUERIES),300) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m row_fuzz --pairs $(or $(PAIRS),10000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m row_stream_fuzz --pairs $(or $(PAIRS),10000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m sequential_fuzz --pairs $(or $(PAIRS),10000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m temporal_fuzz --pairs $(or $(PAIRS),10000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m why_fuzz --pairs $(or $(PAIRS),2000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m algebra_fuzz --networks $(or $(PAIRS),5000) --seed $(or $(SEED),1))
	@$(if $(RULES),,PYTHONPATH=tests $(BIN)/python -m algebra_stream_fuzz --pairs $(or $(PAIRS),5000) --seed $(or $(SEED),1))

mutate: .venv/ready  ## break the guards of rules, one by one: each must be noticed; ONLY="RULE ..."
	@PYTHONPATH=tests $(BIN)/python -m mutate --pairs $(or $(PAIRS),20000) --only $(ONLY)

bench: .venv/ready java  ## measure; no test depends on a time
	@PYTHONPATH=tests $(BIN)/python -m bench.run $(ONLY)

docs: .venv/docs-ready  ## the documentation as a site in build/site
	@echo "building the documentation"
	@mkdir -p build  # not with -q: mkdocs then counts no warnings, and --strict lets all pass
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -f docs/site/mkdocs.yml >build/docs.log 2>&1 \
	  || { cat build/docs.log >&2; exit 1; }
	@echo "build/site/index.html"

dist: .venv/ready java  ## wheel, sdist, SBOM and licences in build/dist; each package is installed and used
	@PYTHONPATH=tests $(BIN)/python -m dist build/dist

cluster: .venv/ready java  ## the fraud job on three hosts (network namespaces) while one is lost; requires root
	@if test "$$(id -u)" = 0 && ! command -v ip >/dev/null && command -v apt-get >/dev/null; then \
	  echo "installing iproute2 for the network of the hosts"; mkdir -p build; \
	  { apt-get update -qq; apt-get install -y -qq iproute2; } >build/iproute2.log 2>&1 \
	    || { tail -n 5 build/iproute2.log >&2; echo "no iproute2 could be installed" >&2; }; \
	fi
	@PYTHONPATH=tests $(BIN)/python -m cluster.run build/cluster $(ONLY)

versions: .venv/ready java  ## a part of the tests with other versions of Spark, Python and pandas: ONLY="spark-4.1"
	@PYTHONPATH=tests $(BIN)/python -m versions build/versions $(ONLY)

fmt: .venv/ready  ## format the code
	@$(BIN)/ruff check -q --fix-only .
	@$(BIN)/ruff format -q .

clean:  ## remove .venv, build/ and all caches
	@rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# mypy finds modules by directory, and `neelc` is put together from three: link them into one.
# Links to directories, so that a new module is seen without another run.
build/mypy:
	@rm -rf $@ && mkdir -p $@/neelc
	@for path in compiler/*.py compiler/py.typed compiler/*/ grammar runtime; do \
	  ln -s "$(CURDIR)/$${path%/}" "$@/neelc/$$(basename $$path)"; done

.venv/ready: setup.cfg pyproject.toml tests/versions.txt
	@test -n "$(PYTHON)" || { echo "neelc requires Python 3.11 or later; none was found" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -c 'import ensurepip' 2>/dev/null \
	  || { echo "installing Python's venv module"; \
	       apt-get update -qq && apt-get install -y -qq $(notdir $(PYTHON))-venv >/dev/null; } \
	  || { echo "$(PYTHON) has no venv module: install the package $(notdir $(PYTHON))-venv" >&2; exit 1; }
	@test -x $(BIN)/pip || { echo "creating .venv"; $(PYTHON) -m venv --clear .venv; }
	@echo "installing neelc and its tools into .venv (the first time, this downloads Spark)"
	@$(BIN)/pip install -qq --disable-pip-version-check -c tests/versions.txt -e '.[dev]'
	@touch $@

.venv/docs-ready: .venv/ready
	@echo "installing mkdocs into .venv"
	@$(BIN)/pip install -qq --disable-pip-version-check -c tests/versions.txt -e '.[docs]'
	@touch $@

# Spark needs Java 17 or later. Without it only what runs on Spark fails, so this warns and goes on.
java:
	@if ! command -v java >/dev/null && ! test -x "$${JAVA_HOME:-/nowhere}/bin/java"; then \
	  if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	    echo "installing a Java runtime for Spark"; mkdir -p build; \
	    { apt-get update -qq; apt-get install -y -qq openjdk-17-jre-headless \
	      || apt-get install -y -qq default-jre-headless; } >build/java.log 2>&1 \
	      || { cat build/java.log >&2; echo "no Java runtime could be installed" >&2; }; \
	  else \
	    echo "no Java runtime found: what runs on Spark requires Java 17 or later (openjdk-17-jre-headless)" >&2; \
	  fi; \
	fi

# A JVM that finds Spark's classes in an archive starts in two thirds of the time, and tests start many.
classes: .venv/ready java
	@mkdir -p build; $(BIN)/python tests/jvm.py >build/classes.log 2>&1 || cat build/classes.log >&2

# The pages are tested in a browser. Without one those tests are skipped, so this warns and goes on.
chromium:
	@if ! command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null; then \
	  if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	    echo "installing Chromium for the tests of pages"; mkdir -p build; \
	    { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	      chromium fonts-dejavu-core; } >build/chromium.log 2>&1 \
	      || { tail -n 5 build/chromium.log >&2; echo "no Chromium could be installed" >&2; }; \
	  else \
	    echo "no Chromium found: the tests of pages are skipped" >&2; \
	  fi; \
	fi
