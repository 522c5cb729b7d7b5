# Every target sets up its own virtual environment: git, make and Python >= 3.11 are all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# Matrices here are small: threads that wait for each other cost more than the work.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: browser demo test measured quick lint types benchmark picture docs wheel clean

demo: $(READY)  ## the pendulum paper in small: fits with an unmeasured wind ignored, and not; about two minutes
	$(BIN)/daedal reproduce pendulum --quick

# Reports are tested in a browser: where there is none and Debian's may be installed, it is; else those tests are skipped.
BROWSER := { command -v chromium || command -v chromium-browser || command -v google-chrome || test -n "$$DAEDAL_BROWSER"; } >/dev/null

browser:  ## find chromium, or install it where that is allowed
	@$(BROWSER) || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	  || echo "no chromium: tests of pages in a browser are skipped (CONTRIBUTING.md)"

test: $(READY) browser  ## all tests, the slow ones too
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

measured: $(READY)  ## tests on measured files, which are not in the repository: make measured DATA=folder
	$(BIN)/python -m pytest measured --data='$(DATA)' --problems='$(PROBLEMS)' --contract='$(CONTRACT)' --numprocesses auto --maxprocesses 4 --dist loadgroup

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
	$(BIN)/python docs/tools/picture.py

docs: $(READY)  ## the site, into build/site: every block of code and every example is run, warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	$(BIN)/python docs/tools/check_site.py build/site
	$(BIN)/python docs/tools/look_at_site.py build/site

wheel: $(READY)  ## sdist and wheel into dist, installed in an empty environment, where the README's example runs
	rm -rf build/empty dist
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	$(BIN)/python docs/tools/readme.py > build/readme.py
	cd build && env -u PYTHONPATH empty/bin/python readme.py

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "daedal needs Python 3.11 or newer; '$(PYTHON)' is older or missing. Name another: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) build dist
