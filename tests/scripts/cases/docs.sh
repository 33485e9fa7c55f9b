# SPDX-License-Identifier: BSD-2-Clause
# tests/docs.py, which tests/style.sh runs: finds documents that break a rule, and accepts good
# ones.
documents=$work/documents
mkdir -p "$documents/tests" "$documents/docs/reference" "$documents/scripts"
cp tests/docs.py "$documents/tests/"
git init -q "$documents"
# found CHECK TEXT: prints the number of lines that CHECK prints for docs/reference/page.md with
# this text.
found() {
    printf '%b' "$2" >"$documents/docs/reference/page.md"
    "$documents/tests/docs.py" "$1" | grep -c page.md || true
}
: >"$documents/README.md"
mkdir -p "$documents/docs" && printf '# Performance\n' >"$documents/docs/performance.md"
long=$(printf 'word %.0s' {1..30})
check "documents: a link to a file that is there" 0 "$(found links '# Page\n\n[p](../performance.md#performance)\n')"
check "documents: a link to nothing" 1 "$(found links '# Page\n\n[p](../gone.md)\n')"
check "documents: a link to a heading that is not there" 1 "$(found links '# Page\n\n[p](../performance.md#gone)\n')"
check "documents: a path that exists, and a placeholder" 0 "$(found paths 'See `tests/docs.py` and `tests/NAME.sh`.\n')"
check "documents: a path that does not exist" 1 "$(found paths 'See `tests/gone.py`.\n')"
check "documents: a path from elsewhere than the root" 1 "$(found paths 'See `reference/page.md`.\n')"
check "documents: a file by its name alone" 0 "$(found paths 'See `page.md`.\n')"
check "documents: a cell of 161 characters" 1 "$(found cells "| a | b |\n| --- | --- |\n| x | $(printf 'x%.0s' {1..161}) |\n")"
check "documents: a cell of 160 characters, with a link" 0 "$(found cells "| a | b |\n| --- | --- |\n| x | $(printf 'x%.0s' {1..156}) [y](z.md) |\n")"
check "documents: a source file that does not exist" 1 "$(found paths 'See `gone.cpp`.\n')"
check "documents: a command in a code block that does not exist" 1 "$(found paths 'Run\n\n    scripts/gone.sh --now\n')"
check "documents: a long line" 1 "$(found columns "$long\n")"
check "documents: a long row of a table, a long line of code" 0 "$(found columns "| $long |\n\n    $long\n")"
check "documents: eleven lines without a break" 1 "$(found paragraphs "$(printf 'a line\\n%.0s' {1..11})")"
check "documents: ten lines, then a list" 0 "$(found paragraphs "$(printf 'a line\\n%.0s' {1..10})- item\n")"
printf '# Page\n\n- %s\n\n%s\n\n    %s\n' "$long" "$long" "$long" >"$documents/docs/reference/page.md"
"$documents/tests/docs.py" wrap "$documents/docs/reference/page.md"
check "documents: wrapped, all but the code" "9 1" \
    "$(wc -l <"$documents/docs/reference/page.md") $(awk 'length > 100' "$documents/docs/reference/page.md" | wc -l)"
seq 81 >"$documents/README.md"
check "documents: README above 80 lines" 1 "$("$documents/tests/docs.py" lengths | grep -c README || true)"
printf '# Page\n\n`real()` is called.\n' >"$documents/docs/page.md"
printf 'real() { :; }\n' >"$documents/scripts/source.sh"
check "documents: a function that is there" 0 "$("$documents/tests/docs.py" names | grep -c page.md || true)"
printf '# Page\n\n`gone()` is called.\n' >"$documents/docs/page.md"
check "documents: a function that is in no source" 1 "$("$documents/tests/docs.py" names | grep -c page.md || true)"
printf 'add_executable(card_test a.cpp)\n' >"$documents/CMakeLists.txt"
printf 'suites=(\n    "unit|run|tests"\n)\n' >"$documents/scripts/test.sh"
check "documents: a target, a program and a suite that exist" 0 \
    "$(found commands 'Run\n\n    cmake --build build --target card_test && build/bin/card_test  # --target none\n    scripts/test.sh unit\n')"
check "documents: a target that does not exist" 1 "$(found commands 'Run `cmake --build build --target card_test gone`.\n')"
check "documents: a program that is not built" 1 "$(found commands 'Run\n\n    build/bin/gone -x\n')"
check "documents: a suite that does not exist" 1 "$(found commands 'Run\n\n    scripts/test.sh unit gone\n')"
mkdir -p "$documents/docs/man" "$documents/docs/howto"
printf '.TH X 1\nSee docs/reference/page.md and docs/gone\\-page.md.\n' >"$documents/docs/man/x.1"
check "documents: a manual that names a file that is not there" 1 "$("$documents/tests/docs.py" paths | grep -c man/x.1 || true)"
printf -- '- [a thing](thing.md)\n' >"$documents/docs/howto/README.md"
printf '# Add a thing\n\n**Proof**\n\n- `tests/docs.py`\n' >"$documents/docs/howto/thing.md"
check "documents: a recipe with its proof" 0 "$("$documents/tests/docs.py" recipes | grep -c thing || true)"
printf '# Add a thing\n\n`tests/docs.py`\n' >"$documents/docs/howto/thing.md"
check "documents: a recipe without a proof" 1 "$("$documents/tests/docs.py" recipes | grep -c thing || true)"
