# Every target does its own set-up: Python >= 3.11 with pip and make are all a fresh machine needs.
PYTHON ?= python3
UV_VERSION = 0.13.9
UV = .tools/bin/uv
RUN = $(UV) run --frozen --no-sync

.DEFAULT_GOAL := help
.PHONY: help setup controlplane demo sandbox test lint format types generate check-generated bench ci clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(UV):
	@echo "bringing uv $(UV_VERSION) into .tools"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --target .tools uv==$(UV_VERSION)

.venv/.synced: $(UV) pyproject.toml uv.lock
	@$(UV) sync --frozen --all-extras --group dev
	@touch $@

setup: .venv/.synced ## install everything Python needs into .venv
