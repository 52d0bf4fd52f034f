# Two commands for a reader: `make reproduce` and `make test`. Each sets up what it needs.
UV      := .tools/bin/uv
VENV    := .venv
PY      := $(VENV)/bin/python
PYTHON  ?= python3
STAMP   := $(VENV)/.installed
OUT     ?= runs
ARGS    ?=

# A batched kernel under a threaded BLAS oversubscribes two cores: one BLAS thread, Numba for the rest.
export OPENBLAS_NUM_THREADS ?= 1
# Behind a mirror the machine's own certificates are the ones that count.
export UV_SYSTEM_CERTS ?= 1

.PHONY: install reproduce test test-browser test-torch check bench soak docs lock clean

install: $(STAMP)

WITH_UV  = $(PYTHON) -m pip install --quiet --disable-pip-version-check --no-warn-script-location \
             --root-user-action=ignore --upgrade --target .tools uv && \
           $(UV) venv --quiet --clear --python $(PYTHON) $(VENV) && \
           $(UV) pip sync --quiet --python $(PY) --require-hashes requirements.lock && \
           $(UV) pip install --quiet --python $(PY) --no-deps --no-build-isolation -e .
WITH_PIP = $(PYTHON) -m venv --clear $(VENV) && \
           $(PY) -m pip install --quiet --require-hashes -r requirements.lock && \
           $(PY) -m pip install --quiet --no-deps --no-build-isolation -e .

$(STAMP): requirements.lock pyproject.toml
	@$(WITH_UV) || { echo "uv could not set this up: falling back to plain pip"; $(WITH_PIP); }
	@touch $(STAMP)

reproduce: install
	$(VENV)/bin/twofold reproduce --out $(OUT) $(ARGS)

TEST = $(PY) -m pytest -m "not soak and not browser and not torch"

# The studies, at five seeds each, take as long as all the rest: both halves at once, on two cores.
test: install
ifeq ($(strip $(ARGS)),)
	@$(TEST) tests/studies >$(VENV)/studies.log 2>&1 & studies=$$!; \
	$(TEST) --ignore=tests/studies; rest=$$?; \
	wait $$studies; half=$$?; cat $(VENV)/studies.log; exit $$((rest | half))
else
	$(TEST) $(ARGS)
endif

test-browser: install
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }
	$(PY) -m pytest -m browser $(ARGS)

# torch is something users pass in, never a dependency: it goes to a folder of its own.
test-torch: install
	@test -d .torch/torch || $(PYTHON) -m pip install --quiet --root-user-action=ignore --target .torch 'torch==2.13.0'
	PYTHONPATH=.torch $(PY) -m pytest -m torch $(ARGS)

check: install
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/basedpyright
	$(PY) -m pytest tests/test_house.py

bench: install
	$(PY) benchmarks/run.py $(ARGS)

soak: install
	$(PY) -m pytest -m soak $(ARGS)

docs: install
	$(VENV)/bin/mkdocs build --strict

lock:
	$(UV) lock --upgrade
	$(UV) export --locked --no-emit-project --all-groups --all-extras --format requirements.txt -q -o requirements.lock

clean:
	rm -rf $(VENV) .tools site
