# From a clone: make quickstart, make test. Every target installs what it needs first.
#   HOTROW_VENV   Python environment (default .venv)
#   HOTROW_BUILD  build trees        (default build)
#   SECONDS       how long to fuzz     (default 600)
#   ARGS          options of the quick start, e.g. make quickstart ARGS="--data PATH --epochs 2"
.DEFAULT_GOAL := help

HOTROW_VENV ?= .venv
HOTROW_BUILD ?= build
export HOTROW_VENV HOTROW_BUILD
ARGS ?=
SECONDS ?= 600

python := $(HOTROW_VENV)/bin/python
installed := $(HOTROW_VENV)/.hotrow-installed
package_sources := $(shell find client proto kernels cmake CMakeLists.txt scripts/install_python.sh \
  -type f -not -path '*/__pycache__/*' -not -path '*/examples/*' 2>/dev/null)

package_list := $(HOTROW_VENV)/.hotrow-sources

.PHONY: help quickstart test build bench test-asan test-tsan fuzz thread-safety format check-format \
  lint tidy packages lint-packages test-packages venv release clean always

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

quickstart: build ## start two shards, train, compare with local PyTorch, stop
	@$(python) client/python/examples/quickstart.py --server $(HOTROW_BUILD)/release/bin/hotrow-server $(ARGS)

test: build test-packages ## build and run every test
	@scripts/run_tests.sh release

build: release $(installed) ## build the programs and install the Python package

bench: build ## the short benchmark set: table and plot
	@scripts/install_packages.sh bench || echo 'hotrow: going on without them' >&2
	@scripts/run_bench.sh

test-asan: test-packages venv ## every test under AddressSanitizer and UBSan
	@scripts/build.sh asan
	@scripts/run_tests.sh asan

test-tsan: test-packages ## C++ tests under ThreadSanitizer
	@scripts/build.sh tsan
	@scripts/run_tests.sh tsan

fuzz: packages venv ## libFuzzer on the decoders, SECONDS=600
	@scripts/install_packages.sh fuzz
	@scripts/fuzz.sh $(SECONDS)

thread-safety: lint-packages ## check the lock annotations with clang
	@scripts/build.sh thread-safety

format: lint-packages venv ## format C++ and Python in place
	@scripts/format.sh

check-format: lint-packages venv ## fail when a file is not formatted
	@scripts/format.sh --check

lint: check-format ## the rules of CONTRIBUTING.md
	@$(HOTROW_VENV)/bin/ruff check --quiet .
	@$(python) scripts/lint.py

tidy: thread-safety ## clang-tidy on all product files (minutes)
	@scripts/tidy.sh

packages:
	@scripts/install_packages.sh

lint-packages:
	@scripts/install_packages.sh lint

test-packages:
	@scripts/install_packages.sh test

venv: packages
	@scripts/make_venv.sh

release: packages
	@scripts/build.sh release

$(installed): $(package_sources) $(package_list) | packages venv release
	@scripts/install_python.sh
	@touch $@

# Changes when a file of the package comes or goes: a file that is gone has no time to look at.
$(package_list): always | venv
	@printf '%s\n' $(sort $(package_sources)) | cmp -s - $@ || printf '%s\n' $(sort $(package_sources)) >$@

clean: ## remove the build trees (not the Python environment)
	rm -rf $(HOTROW_BUILD)
