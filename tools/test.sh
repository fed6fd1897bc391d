#!/usr/bin/env bash
# Linters, then colcon test of every package, one after the other: two cores are few.
set -euo pipefail
cd "${ROOT:?is set by ./run}"

ruff format --check .
ruff check .
mypy
shopt -s globstar
bash -n run tools/*.sh .ci/run

python -m colcon --log-base log test --base-paths src --build-base build --install-base install --test-result-base build \
  --executor sequential --event-handlers console_direct+ console_cohesion- --return-code-on-test-failure "$@" && status=0 || status=$?
python -m colcon test-result --test-result-base build --verbose | tail -n 40 || status=1
exit "$status"
