PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# One thread: on small networks more threads wait for each other longer than they work.
export OMP_NUM_THREADS ?= 1

.PHONY: setup demo test docs clean

setup: $(VENV)/.ready

# torch goes first and alone: a plain "torch" would pull the CUDA packages.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0 -c constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: setup
	$(BIN)/lossnet demo --out demo
	$(BIN)/python examples/demo_picture.py demo

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses 2 --dist worksteal

# The examples are run, their output and pictures are the gallery; see build/site, or mkdocs serve.
docs: setup
	$(BIN)/python website/gallery.py build/gallery
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

clean:
	rm -rf $(VENV) demo build *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
