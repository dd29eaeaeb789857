#!/bin/sh
# Holds every source to .clang-format. Exit status 77 (skipped) where clang-format is not, or is of another version than
# the one whose layout the sources have.
set -u
version=14
cd "$(dirname "$0")/.." || exit 3
tool=$(command -v clang-format-$version || command -v clang-format) || { echo "check-format: there is no clang-format"; exit 77; }
case $("$tool" --version) in
    *"version $version."*) ;;
    *)
        echo "check-format: $("$tool" --version), but the sources have the layout of version $version"
        exit 77
        ;;
esac
find include src kernels app bench tests examples \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -0 "$tool" --dry-run -Werror && echo "check-format: all sources have the layout of .clang-format"
