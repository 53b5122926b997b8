# make run    set up and serve http://127.0.0.1:7860
# make test   set up, lint and run every test; the browser tests want Chromium
# make lint   the linters alone
# make clean  remove the virtual environment and the caches; runs stay
#
# PORT, HOST and ARGS go to app.py:  make run PORT=8000 ARGS=--read-only
# PYTHON names the interpreter:      make run PYTHON=python3.12
# TESTS narrows the tests:           make test TESTS="tests/test_rewards.py -x"
# JOBS is how many run at once:      make test JOBS=1

HOST ?= 127.0.0.1
PORT ?= 7860
ARGS ?=
TESTS ?=
JOBS ?= 2
CANDIDATES = python3 python3.14 python3.13 python3.12 python3.11 python

VENV = .venv
RECENT = import sys; sys.exit(sys.version_info < (3, 11))
PIP = $(VENV)/bin/python -m pip install --disable-pip-version-check

.PHONY: run test lint clean

run: $(VENV)/.can-run
	@exec $(VENV)/bin/python app.py --host $(HOST) --port $(PORT) $(ARGS)

test: $(VENV)/.can-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m pytest -n $(JOBS) --dist load $(TESTS)

lint: $(VENV)/.can-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './runs/*' -prune -exec rm -rf {} +

# The stamps are written last, so a set-up that was interrupted starts over and a finished one is never repeated.

$(VENV)/.made:
	@python=""; for candidate in $(or $(PYTHON),$(CANDIDATES)); do \
		if $$candidate -c '$(RECENT)' 2>/dev/null; then python=$$candidate; break; fi; done; \
	if [ -z "$$python" ]; then \
		echo "Ortam needs Python 3.11 or newer, and $(or $(PYTHON),none of $(CANDIDATES)) is that." \
			"Install it, or name yours: make $(or $(MAKECMDGOALS),run) PYTHON=/path/to/python3.12" >&2; exit 1; fi; \
	echo "Making $(VENV) with $$($$python --version)"; \
	$$python -m venv --clear $(VENV) || { \
		echo "Python can't make a virtual environment here. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/.can-run: $(VENV)/.made requirements.txt
	@echo "Installing what Ortam runs on (once; some minutes and up to a few GB, most of it PyTorch)"
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.can-test: $(VENV)/.can-run requirements-dev.txt
	@echo "Installing the tools of the tests"
	$(PIP) -r requirements-dev.txt
	@touch $@
