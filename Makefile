# Every target does its own set-up: Python >= 3.11 with pip, make and git are all a fresh machine needs.
PYTHON ?= python3
UV_VERSION = 0.13.9
UV = .tools/bin/uv
RUN = $(UV) run --frozen --no-sync
WORKERS ?= 2
BED = PYTHONPATH=.:tests $(RUN) python
E2E = tests/image tests/node

.DEFAULT_GOAL := help
.PHONY: help setup controlplane demo sandbox test lint format generate check-generated bench pythons vectors conformance \
  image e2e node-up node-down footprint ci clean clean-cache

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(UV):
	@echo "bringing uv $(UV_VERSION) into .tools"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target .tools uv==$(UV_VERSION)

.venv/.synced: pyproject.toml uv.lock | $(UV)
	@$(UV) sync --frozen --all-extras --group dev
	@touch $@

setup: .venv/.synced ## install everything Python needs into .venv

controlplane: setup ## build etcd, the API server, kubectl and helm into the per-user cache (once; about 10 minutes)
	@$(BED) -m controlplane build

demo: controlplane ## the story on a real embedded control plane: refused, approved, admitted, changed, refused
	@$(BED) -m demo

sandbox: controlplane ## the same set-up left running with an empty enforce namespace, to play in
	@$(BED) -m demo sandbox

test: controlplane ## every test but e2e, against the real control plane; T=tests/core K=pattern narrow it
	@$(RUN) pytest $(if $(T)$(K),,-n $(WORKERS) --dist loadfile) $(or $(T),tests $(E2E:%=--ignore=%)) $(if $(K),-k "$(K)")

e2e: controlplane ## our image and chart on a real node: kubelet, containerd, Pods; Linux and root; K=pattern narrows it
	@$(RUN) pytest $(E2E) $(if $(K),-k "$(K)")

node-up: controlplane ## a real node with the product on it, left running in the background, to play in
	@$(BED) -m node up

node-down: setup ## end it; nothing stays behind
	@$(BED) -m node down

footprint: controlplane ## what an idle installation takes of a node, measured by the kubelet; printed, not asserted
	@$(BED) -m node footprint

pythons: setup ## the tests of core and runtime on every Python the package claims; says which ran
	@$(RUN) python tools/test_pythons.py

conformance: setup ## 20,000 random inputs against the reference library, in an environment of its own; N=500 runs fewer
	@$(BED) -m conformance $(if $(N),--cases $(N))

image: setup ## build the image with the list of what is in it into dist/; Linux and root, the first time two minutes
	@$(BED) -m image

lint: setup ## format check, lint, types, import contracts
	@$(RUN) ruff format --check .
	@$(RUN) ruff check .
	@$(RUN) mypy
	@$(RUN) lint-imports

format: setup ## format and fix what can be fixed
	@$(RUN) ruff format .
	@$(RUN) ruff check --fix .

generate: setup ## rewrite every derived file
	@$(RUN) python tools/generate_chart.py
	@$(RUN) python tools/generate_docs.py
	@$(RUN) python tools/generate_schema.py

check-generated: setup ## fail when a derived file is not what generate writes
	@$(RUN) python tools/generate_chart.py --check
	@$(RUN) python tools/generate_docs.py --check
	@$(RUN) python tools/generate_schema.py --check

bench: controlplane ## what a decision costs, in ratios measured in one run; printed, not asserted
	@$(BED) -m bench

vectors: setup ## the contract vectors on every Python within reach
	@$(RUN) python tools/test_pythons.py --vectors

ci: lint check-generated test vectors e2e ## everything a submission must pass

clean: ## remove what setup made
	rm -rf .venv* .tools dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

clean-cache: ## remove the per-user cache of built and downloaded programs
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/toolvet"
