# Every target sets up its own virtual environment: git, make and Python >= 3.11 are all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# Matrices here are small: threads that wait for each other cost more than the work.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test measured quick lint types benchmark picture clean

demo: $(READY)  ## the pendulum paper in small: fits with an unmeasured wind ignored, and not; about two minutes
	$(BIN)/daedal reproduce pendulum --quick

test: $(READY)  ## all tests, the slow ones too
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

measured: $(READY)  ## tests on measured files, which are not in the repository: make measured DATA=folder
	$(BIN)/python -m pytest measured --data='$(DATA)' --problems='$(PROBLEMS)' --contract='$(CONTRACT)' --numprocesses auto --maxprocesses 4 --dist worksteal

quick: $(READY)  ## the tests to run while writing code
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal -m "not slow" -q

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/pyright

benchmark: $(READY)  ## speed and accuracy figures
	$(BIN)/python benchmarks/foundation.py
	$(BIN)/python benchmarks/ensemble.py
	$(BIN)/python benchmarks/components.py
	$(BIN)/python benchmarks/estimation.py time joint
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/likelihood.py
	$(BIN)/python benchmarks/delays.py time sweep growth
	$(BIN)/python benchmarks/order.py time
	$(BIN)/python benchmarks/switching.py --data='$(DATA)'
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/studies.py workers journal shards

picture: $(READY)  ## redraw the picture of the README
	$(BIN)/python docs/picture.py

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "daedal needs Python 3.11 or newer; '$(PYTHON)' is older or missing. Name another: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV)
