# Needs Python 3.11 or later, make and a package index; everything else goes into .venv.
#   make demo PYTHON=python3.12    another interpreter
#   make demo TORCH=cpu            PyTorch without CUDA: 250 MB instead of 5 GB
#   make laptop CORES=4            fewer cores than there are
#   make laptop AGAIN=1            train what is stored, too
#   make laptop ONLY=bdp2019/table2    only that table or figure, and the runs that it reads

PYTHON ?= python3
CORES ?= all
PRESET ?= demo
TORCH ?= cuda
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CPU := $(filter cpu,$(TORCH))
PACKAGES := packages/fedpriv-engines packages/fedpriv-studies
WHEELS := https://download.pytorch.org/whl/cpu
UV := $(shell command -v uv 2>/dev/null)
PIP := $(if $(UV),$(UV) pip install --python $(BIN)/python,$(BIN)/python -m pip install --no-compile --progress-bar on)
FOLLOW := $(BIN)/python -P -m fedpriv.cli.follow
CONFIG := $(if $(AGAIN)$(ONLY),--config $(if $(AGAIN),again=true) $(if $(ONLY),'show=["$(ONLY)"]'))

define build
@$(FOLLOW) logs/$(1)/snakemake.log $(BIN)/snakemake --configfile config/$(1).yaml $(CONFIG) --cores $(CORES)
@$(BIN)/fedpriv step outcome config/$(1).yaml $(if $(ONLY),--set 'show=["$(ONLY)"]')
endef

# Many a container sets it; every process would then compile torch and pandas again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo laptop binary paper search readings guarantees guarantees_search handcrafted tutorial report reference rerender test explore slurm-test check wheels docs site clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z_-]+:.*## / {printf "make %-17s %s\n", $$1, $$2}' Makefile

demo: ## every table and figure, small, from bundled data: minutes, no data download
laptop: ## the rows for 100 clients on real data: minutes from stored runs, hours with AGAIN=1
binary: ## binary networks as published, the i.i.d. panels and the ablation: five hours on a CPU
paper: ## sizes and rounds as published: hours on a GPU, days on a CPU
search: ## the hyper-parameter search behind the papers, on a validation split: a quarter of an hour on two cores
readings: ## under which settings that the 2019 paper leaves out its published pairs come out: eleven hours on two cores
guarantees: ## what a guarantee buys at the (ε, δ) of the papers: an hour or two on two cores
guarantees_search: ## the search behind it, on Fashion-MNIST: a quarter of an hour on two cores
handcrafted: ## DP-SGD on scattering features, the example as unit, as published: half an hour on two cores
tutorial: ## DP-SGD as in TensorFlow Privacy's MNIST tutorial: an hour or two on two cores
demo laptop binary paper search readings guarantees guarantees_search handcrafted tutorial: $(INSTALLED)
	$(call build,$@)

report: $(INSTALLED) ## the report of a preset, and whatever it lacks: make report PRESET=laptop
	$(call build,$(PRESET))

reference: $(INSTALLED) ## store the finished runs of a preset in git, and what is rendered from them: make reference PRESET=laptop
	$(BIN)/fedpriv keep results/$(PRESET)
	mkdir -p results/reference/$(PRESET)
	$(BIN)/fedpriv rerender --write

rerender: $(INSTALLED) ## every reference table, figure and verdict again from stored runs; fails where a byte differs
	$(BIN)/fedpriv rerender $(PAPERS)

test: $(INSTALLED) ## run the tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2

explore: $(INSTALLED) ## the tests with a property, on examples drawn anew, and runs killed at random moments
	HYPOTHESIS_PROFILE=new OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 $$(grep -rl hypothesis tests packages --include='test_*.py')
	FEDPRIV_KILLS=$${FEDPRIV_KILLS:-2} OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 tests/train/test_kills.py

slurm-test: $(INSTALLED) ## runs through a real one-node Slurm with a stand-in GPU; skipped where none can be installed
	sh tests/workflow/slurm/install.sh
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slurm

check: $(INSTALLED) site ## formatting, lint, types, layers, the workflow's lint, the pages and their links
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --configfile config/demo.yaml --lint
	$(BIN)/python -m pytest --quiet tests/docs/test_links.py

wheels: $(INSTALLED) ## build what a release uploads into dist/, check it, and install it into fresh environments
	PYTHON=$(PYTHON) .ci/wheels

docs: $(INSTALLED) ## write what is generated: tables of the README, pages of docs/, schemas of config/
	$(BIN)/python -P -m fedpriv.docs
	$(BIN)/python -P -m fedpriv.docs.reference

site: $(INSTALLED) ## the pages of docs/ with the reference of what is public, in build/site
	@NO_MKDOCS_2_WARNING=1 PATH="$(abspath $(BIN)):$$PATH" $(BIN)/mkdocs build
	@echo "The pages: build/site/index.html"

# Not .snakemake: it remembers what the results of every preset were made from.
clean: ## remove the demo's results and what the tools left behind
	rm -rf results/demo .pytest_cache .ruff_cache .hypothesis

$(INSTALLED): pyproject.toml $(wildcard $(PACKAGES:%=%/pyproject.toml)) constraints.txt
	@$(if $(UV),$(UV) run --quiet --no-project --python $(PYTHON) python,$(PYTHON)) -c 'import sys; sys.version_info >= (3, 11) or \
		sys.exit("fedpriv: found Python %d.%d, allowed: 3.11 or later, as in make demo PYTHON=python3.12" % sys.version_info[:2])'
	@echo "1/3 a virtual environment in $(VENV): seconds"
	$(if $(UV),$(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV))
	@echo "2/3 PyTorch: $(if $(CPU),250 MB and a minute,2 GB with CUDA and some minutes; TORCH=cpu takes 250 MB)"
	$(PIP) $(if $(CPU),--no-deps --index-url $(WHEELS)) --constraint constraints.txt torch torchvision
	@echo "3/3 everything else: 500 MB and a minute or two"
	$(PIP) --constraint constraints.txt --editable '.[dev]' $(addprefix --editable ,$(PACKAGES))
	@$(BIN)/python -P -m fedpriv.docs.reference
	@touch $@
