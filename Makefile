# make build   install what is missing, then build the tools into build/bin
# make demo    build remat-run, then train a small GPT on the host in half its memory
# make test    build, then run every test (what .ci/run calls)
# make fuzz    more random tests than make test has: make fuzz N=10000 SEED=7;
#              make fuzz PARTS=bytes MINUTES=10: libFuzzer, sanitized
# make seeds   replay the memory experiments of articles on PyTorch (docs/Reference.md)
# make asan    every native test under address and undefined-behaviour sanitizers
# make wheel   the Python package with its library, in build-wheel/dist, and its
#              test; a first one takes as long as a build
# make static  tools that need libc only, in build-static/bin, and such a libremat.so
#              in build-static/lib, to carry to a GPU machine
# make format  clang-format on every source; make tidy: clang-tidy

.PHONY: configure build demo test fuzz seeds asan wheel static format tidy docs clean
.DEFAULT_GOAL := build

export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# Precompiled headers are made without times and macros are not looked for in them.
export CCACHE_SLOPPINESS := pch_defines,time_macros
# Tests and measurements compile, whatever was compiled before.
export REMAT_CACHE_DIR := off

configure:
	@scripts/setup.sh build
	@mkdir -p build && { cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }; }

build: configure
	@cmake --build --preset release

demo: configure
	@cmake --build --preset release --target remat-run
	@bash scripts/demo.sh

test:
	@scripts/setup.sh cuda
	@bash scripts/test.sh

fuzz: build
	@scripts/setup.sh test
	@N=$(N) SEED=$(SEED) scripts/fuzz.sh $(PARTS)

seeds: configure
	@scripts/setup.sh test
	@cmake --build --preset release --target remat-opt remat-run RematCAPI
	@.venv/bin/python bench/seeds/replay.py

asan:
	@scripts/setup.sh cuda
	@bash scripts/test.sh asan

wheel:
	@scripts/setup.sh test
	@rm -rf build-wheel/dist
	@.venv/bin/python -m pip wheel -q --no-deps -w build-wheel/dist .
	@bash test/wheel.sh build-wheel/dist/*.whl

static:
	@scripts/setup.sh test
	@cmake --preset static >/dev/null
	@cmake --build --preset static

format:
	@git ls-files '*.h' '*.cpp' '*.cuh' | xargs clang-format-22 -i

tidy:
	@scripts/setup.sh test
	@cmake --preset release >/dev/null
	@git ls-files '*.cpp' | grep -v '^test/' | xargs -P"$$(nproc)" -n4 clang-tidy-22 -p build --quiet

docs: build
	@bash scripts/generate-docs.sh

clean:
	rm -rf build build-asan build-tsan build-static build-fuzz build-wheel
