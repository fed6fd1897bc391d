#!/usr/bin/env bash
# Pins requirements/*.in to requirements/*.txt for every supported Python, with one common set of versions. Needs uv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../requirements"
all=$(mktemp)
trap 'rm -f "$all"' EXIT
compile=(uv pip compile --quiet --universal --python-version 3.10 --no-header --no-annotate)
cat libraries.in ros.in test.in | "${compile[@]}" - -o "$all"
for name in libraries ros test plot bench; do
  {
    echo "# Pinned from $name.in for Python 3.10 to 3.13 on Linux; tools/pin.sh makes it."
    "${compile[@]}" "$name.in" -c "$all" -c torch.txt |
      sed -e "/sys_platform == 'win32'/d" -e "s/ ; sys_platform != 'win32'$//" -e "s/ ; sys_platform == 'linux'$//"
  } >"$name.txt"
done
