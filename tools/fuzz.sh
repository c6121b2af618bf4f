#!/usr/bin/env bash
# Runs every fuzz target of the module for the time given, one after the other:
# `go test -fuzz` takes one target at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10s}

grep -r --include='*_test.go' --exclude-dir=testdata --exclude-dir=tools -o '^func Fuzz[A-Za-z0-9_]*' . | sort |
  while IFS=: read -r file func; do
    "${GO:-go}" test -run '^$' -fuzz "^${func#func }\$" -fuzztime "$time" "$(dirname "$file")" </dev/null
  done
