#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks every file: licence line, formatting, size, shell and Python syntax, no package hosts; and
# the documents.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/test-logs

# verdict NAME OFFENDERS: case: passes if the list is empty.
verdict() {
    if [ -z "$2" ]; then
        echo "PASS style:$1"
    else
        echo "FAIL style:$1: $(tr '\n' ' ' <<<"$2" | cut -c1-400)"
    fi
}

mapfile -t files < <(git ls-files --cached --others --exclude-standard)
sources() { printf '%s\n' "${files[@]}" | grep -E "$1" || true; }

code='\.(c|h|cpp|svh?|py|sh|cmake|toml)$|CMakeLists\.txt$|(^|/)(Kbuild|Makefile)$|\.ci/run$'
verdict "every source names its licence" "$(sources "$code" | while read -r f; do head -n 5 "$f" | grep -qE 'SPDX-License-Identifier: [^ ]+( OR [^ ]+| WITH [^ ]+| \*/|-->|$)|SPDX-License-Identifier: \(' || echo "$f"; done)"
verdict "kernel and provider are GPL-2.0 OR BSD-2-Clause" "$(sources '^(kmod|provider)/.*\.[ch]$' | grep -v /uapi/ | xargs -r grep -L 'SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause')"
verdict "what programs include of the kernel has the syscall note" "$(sources '^kmod/include/uapi/' | xargs -r grep -L 'SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause)')"
verdict "no file above 800 lines" "$(sources '\.(c|h|cpp|svh?|py|sh)$' | xargs -r wc -l | awk '$2 != "total" && $1 > 800 {print $2 " (" $1 ")"}')"
verdict "C++ is formatted (.clang-format)" "$(sources '^(cli|hw|qp-exchange|rdma-bench|tests)/.*\.(cpp|h)$' | grep -vE '^tests/(kmod|provider)/' | xargs -r clang-format --dry-run 2>&1 | grep -oE '^[^ :]+\.(cpp|h)' | sort -u)"
verdict "below hw/ nobody knows more than tests/layers.py allows" "$(tests/layers.py 2>&1)"
verdict "shell scripts parse" "$(sources '\.sh$|\.ci/run$' | while read -r f; do bash -n "$f" 2>/dev/null || echo "$f"; done)"
verdict "Python scripts parse" "$(sources '\.py$' | while read -r f; do python3 -c 'import ast,sys; ast.parse(open(sys.argv[1]).read())' "$f" 2>/dev/null || echo "$f"; done)"
verdict "no package host in a file" "$(printf '%s\n' "${files[@]}" | grep -v '^tests/style.sh$' | xargs -r grep -lIE 'deb\.debian\.org|snapshot\.debian|registry\.npmjs|pypi\.org' || true)"
verdict "no merge markers, no trailing blanks in sources" "$(sources "$code" | xargs -r grep -lE '^(<<<<<<<|>>>>>>>)|[[:blank:]]+$' || true)"
verdict "what has a #! line is executable" "$(sources '\.(sh|py)$|\.ci/run$' | while read -r f; do [ "$(head -c 2 "$f")" != '#!' ] || [ -x "$f" ] || echo "$f"; done)"
verdict "comments name their subjects (tests/comments.py --help)" "$(tests/comments.py 2>&1)"
# Documents: tests/docs.py --help explains each check; tests/scripts/cases/docs.sh tests the checks.
verdict "documents link to what is there" "$(tests/docs.py links 2>&1)"
verdict "documents name files that exist" "$(tests/docs.py paths 2>&1)"
verdict "targets, programs and suites that documents name exist" "$(tests/docs.py commands 2>&1)"
verdict "recipes end with the test that proves them" "$(tests/docs.py recipes 2>&1)"
verdict "functions that documents name exist" "$(tests/docs.py names 2>&1)"
verdict "documents are wrapped at 100 columns (tests/docs.py wrap FILE)" "$(tests/docs.py columns 2>&1)"
verdict "no paragraph of docs/reference above 10 lines" "$(tests/docs.py paragraphs 2>&1)"
verdict "README and performance.md stay short" "$(tests/docs.py lengths 2>&1)"
verdict "no cell of a table above 160 characters" "$(tests/docs.py cells 2>&1)"
verdict "docs/performance.md is what docs/performance/*.json give (scripts/lib/performance.py render --write)" "$(diff <(scripts/lib/performance.py render) docs/performance.md | head -5)"
