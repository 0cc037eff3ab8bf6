# Everything runs in .venv, which the first target that needs it makes. Nothing is written
# outside this folder: temporary files of tests go to a folder that is removed again.

.DEFAULT_GOAL := help
SHELL = /bin/sh
PYTHON = python3
PY = .venv/bin/python
READY = .venv/ready
ROUNDS = 40
# A test that tells its figures: they stand at the end, also when it passes.
PROOF = $(PY) -m pytest -q -rP
E2E_HOSTS = claude-code claude-cli-provider codex gemini-cli opencode copilot-cli

# Variables of the caller that would steer the environment's Python or pip elsewhere.
unexport PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PYTHONPLATLIBDIR PYTHONWARNINGS
unexport PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX PYTHONOPTIMIZE PYTHONSAFEPATH PYTHONNOUSERSITE
unexport PYTHONINSPECT PYTHONDEBUG PYTHONVERBOSE PYTHONMALLOC PYTHONIOENCODING PYTHONEXECUTABLE
unexport PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_REQUIRE_HASHES PIP_REQUIRE_VIRTUALENV PIP_DRY_RUN
unexport PYTEST_ADDOPTS PYTEST_PLUGINS VIRTUAL_ENV __PYVENV_LAUNCHER__

# $(call scratch,COMMAND): run it with a temporary folder of its own. Root's tests drop to another
# user, who has to be able to pass through it.
scratch = dir=$$(mktemp -d) && chmod 711 "$$dir" && trap 'rm -rf "$$dir"' EXIT && trap 'exit 130' INT TERM && TMPDIR="$$dir" $(1)

.PHONY: help install demo test test-slow kill faults fuzz load e2e lint fmt bench bench-cost bench-export eval golden docs lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-11s %s\n", $$1, $$2 }' Makefile

install: $(READY) ## make the environment in .venv (every other target does so by itself)

$(READY): scripts/bootstrap requirements/ci.txt pyproject.toml
	@sh scripts/bootstrap "$(PYTHON)"

demo: $(READY) ## replay a recorded session through the installed hooks and show the memory
	@$(call scratch,$(PY) scripts/demo.py)

test: $(READY) ## run the tests
	@$(call scratch,$(PY) -m pytest -q -n 2 -m "not slow")

test-slow: $(READY) ## run the tests that take longer
	@$(call scratch,$(PY) -m pytest -q -n 2 -m slow)

kill: $(READY) ## kill hooks and runs at random and hooks at every system call, and look for lost events
	@$(call scratch,CMEM_KILLS=2000 CMEM_KILL_POINTS=all CMEM_TEST_KILLS=500 $(PROOF) -n 2 \
	  tests/faults/test_kill_hook.py tests/faults/test_kill_points.py tests/faults/test_kill_compress.py)

faults: $(READY) ## fail every system call of a hook with every error it can have
	@$(call scratch,CMEM_FAULTS=all $(PROOF) -n 2 tests/faults/test_failing_calls.py)

fuzz: $(READY) ## feed hooks 11,000 broken payloads, and look for secrets in every file after each
	@$(call scratch,CMEM_FUZZ=10000 CMEM_FUZZ_REAL=1000 CMEM_SECRETS=300 $(PROOF) \
	  tests/faults/test_fuzz.py tests/faults/test_secrets_at_rest.py)

load: $(READY) ## start 50 hooks at once, six times, while compress runs
	@$(call scratch,CMEM_LOAD=6 $(PROOF) tests/faults/test_load.py)

e2e: $(READY) ## run the hosts' real clients with cmem, or one: e2e-codex (npm fetches them, 1.6 GB)
	@failed=0; for host in $(E2E_HOSTS); do $(MAKE) --no-print-directory e2e-$$host || failed=1; done; exit $$failed

$(E2E_HOSTS:%=e2e-%): e2e-%: $(READY)
	@$(call scratch,$(PY) scripts/e2e_$(subst -,_,$*).py $(E2E))

lint: $(READY) ## check style, types, layers and generated pages
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check --quiet . || { echo "not formatted: run make fmt"; exit 1; }
	@$(PY) -m mypy
	@$(PY) scripts/check_layout.py
	@$(PY) scripts/gen_settings_docs.py --check
	@$(PY) scripts/gen_docs.py --check

fmt: $(READY) ## format the code
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format --quiet .

bench: $(READY) ## measure the hooks against a bare interpreter
	@$(call scratch,$(PY) scripts/bench_hooks.py --rounds $(ROUNDS))

bench-cost: $(READY) ## measure what a model would be sent for the recorded sessions
	@$(call scratch,$(PY) scripts/bench_cost.py --check)

bench-export: $(READY) ## measure export and import of 100,000 observations (5 minutes)
	@$(call scratch,nice $(PY) scripts/bench_export.py)

eval: $(READY) ## measure what is kept and found: every scripts/eval_*.py
	@failed=0; for script in scripts/eval_*.py; do $(call scratch,$(PY) "$$script") || failed=1; done; exit $$failed

golden: $(READY) ## rewrite the golden files; review the difference
	@$(call scratch,UPDATE_GOLDEN=1 CMEM_GOLDEN=write $(PY) -m pytest -q -n 2)

docs: $(READY) ## write the generated pages
	@$(PY) scripts/gen_settings_docs.py
	@$(PY) scripts/gen_docs.py

lock: ## pin every package again (needs uv)
	@{ sed -n '/^#/p' requirements/ci.txt; uv pip compile --universal --python-version 3.11 --upgrade \
	  --extra dev --generate-hashes --no-header --no-annotate --no-emit-index-url --quiet \
	  pyproject.toml requirements/build.in; } > requirements/ci.new
	@mv requirements/ci.new requirements/ci.txt

clean: ## remove the environment and everything made by other targets
	@rm -rf .venv .demo .e2e .mypy_cache .ruff_cache .pytest_cache .hypothesis
