# The front door: it installs what is missing (tools/install-packages.sh) and leaves the work to CMake.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ROOMS = $(wildcard src kernels app bench)
SOURCES = $(shell find include $(ROOMS) tests $(wildcard examples) -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh')
# CMake starts a make of its own: it must not take itself for a part of this one.
BUILD = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build --parallel $(JOBS) --preset
TEST = --output-on-failure --parallel 2

.PHONY: all help packages packages-mpi build demo mpi test test-all debug install wheel format lint clean

all: build

help:
	@echo "make                     build the program: build/facet"
	@echo "make demo                solve the first example and make a picture of it"
	@echo "make mpi                 install MPI, PETSc and METIS, build build/facet-mpi and solve on four processes"
	@echo "make test                build, and run the tests (minutes)"
	@echo "make test-all            the same with the slow tests"
	@echo "make debug               build with sanitizers in build-debug, and run the tests there"
	@echo "make install PREFIX=DIR  library, header, program, examples and documents (default: $(PREFIX))"
	@echo "make wheel               a wheel of the Python package in build-wheel/, tried in an empty environment"
	@echo "make format, make lint   clang-format; clang-format, clang-tidy and cppcheck as judges"
	@echo "make clean               remove every build directory"

packages:
	@tools/install-packages.sh build

packages-mpi:
	@tools/install-packages.sh build mpi

build: packages
	@cmake --preset release
	@$(BUILD) release

demo: build
	@tools/demo.sh

mpi: packages-mpi
	@cmake --preset release -DFACET_MPI=ON
	@$(BUILD) release
	@tools/demo-mpi.sh

test: packages-mpi build
	@ctest --preset release $(TEST) --label-exclude slow

test-all: packages-mpi build
	@ctest --preset release $(TEST)

debug: packages
	@cmake --preset debug
	@$(BUILD) debug
	@ctest --preset debug $(TEST) --label-exclude slow

install: build
	@cmake --install build --prefix $(PREFIX)

wheel:
	@tools/install-packages.sh build wheel
	@tools/wheel.sh

format:
	@tools/install-packages.sh build
	@clang-format -i $(SOURCES)

lint:
	@tools/install-packages.sh build lint
	@cmake --preset release
	clang-format --dry-run -Werror $(SOURCES)
	find $(ROOMS) -name '*.c' -print0 | xargs -0 -n 1 -P $(JOBS) clang-tidy --quiet -p build
	cppcheck --quiet --error-exitcode=1 --inline-suppr --suppressions-list=.cppcheck -j $(JOBS) \
	    --enable=warning,performance,portability --std=c11 -Iinclude -Isrc -I. $(ROOMS)

clean:
	rm -rf build build-debug build-thread build-cuda build-fuzz build-python build-vendored build-wheel
