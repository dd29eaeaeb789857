# The front door: tools/install-packages.sh installs what is missing, tools/build.sh leaves the work to CMake.
PREFIX ?= /usr/local
BUILD ?= build
export JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ROOMS = $(wildcard src kernels app bench)
SOURCES = $(shell find include $(ROOMS) tests $(wildcard examples) -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh')
TEST = --output-on-failure --parallel 2

.PHONY: all help build demo mpi test check debug install wheel format lint clean

all: build

help:
	@echo "make demo                build the program for this machine, solve the first example, make a picture of it"
	@echo "make                     build the program for all machines, with the benches: build/facet"
	@echo "make mpi                 install MPI, PETSc and METIS, build build/facet-mpi and solve on four processes"
	@echo "make test                build, and run the tests (minutes)"
	@echo "make check               everything that can be tested, with the slow tests (before a release)"
	@echo "make debug               build with sanitizers in build-debug, and run the tests there"
	@echo "make install PREFIX=DIR  library, header, program, examples and documents (default: $(PREFIX))"
	@echo "make wheel               a wheel of the Python package in build-wheel/, tried in an empty environment"
	@echo "make format, make lint   clang-format; clang-format, clang-tidy and cppcheck as judges"
	@echo "make clean               remove every build directory"
	@echo "BUILD=DIR builds elsewhere than in build/, JOBS=N compiles N files at a time."

build:
	@tools/install-packages.sh program
	@tools/build.sh all "$(BUILD)"

demo:
	@tools/install-packages.sh program picture
	@tools/build.sh demo "$(BUILD)"
	@tools/demo.sh "$(BUILD)"

mpi:
	@tools/install-packages.sh program mpi
	@tools/build.sh mpi "$(BUILD)"
	@tools/demo-mpi.sh "$(BUILD)"

test:
	@tools/install-packages.sh program picture mpi test
	@tools/build.sh test "$(BUILD)"
	@ctest --test-dir "$(BUILD)" $(TEST) --label-exclude slow

check:
	@tools/install-packages.sh program picture mpi test
	@tools/build.sh check "$(BUILD)"
	@ctest --test-dir "$(BUILD)" $(TEST)

debug:
	@tools/install-packages.sh program picture test
	@tools/build.sh debug build-debug
	@ctest --test-dir build-debug $(TEST) --label-exclude slow

install: build
	@cmake --install "$(BUILD)" --prefix "$(PREFIX)"

wheel:
	@tools/install-packages.sh program wheel
	@tools/wheel.sh

format:
	@tools/install-packages.sh test
	@clang-format -i $(SOURCES)

lint:
	@tools/install-packages.sh program test lint
	@tools/build.sh configure "$(BUILD)"
	clang-format --dry-run -Werror $(SOURCES)
	find $(ROOMS) -name '*.c' -print0 | xargs -0 -n 1 -P $(JOBS) clang-tidy --quiet -p "$(BUILD)"
	cppcheck --quiet --error-exitcode=1 --inline-suppr --suppressions-list=.cppcheck -j $(JOBS) \
	    --enable=warning,performance,portability --std=c11 -Iinclude -Isrc -I. $(ROOMS)

clean:
	@[ ! -f "$(BUILD)/CMakeCache.txt" ] || rm -rf "$(BUILD)"
	rm -rf build-debug build-thread build-cuda build-fuzz build-python build-vendored build-wheel
