# SPDX-License-Identifier: BSD-2-Clause
# scripts/mutate.sh: the files of its parts exist, and what it knows as equivalent is a mutant of one of them.
check "mutants: lists of files and equivalents fit the tree" "" "$(scripts/mutate.sh --check 2>&1)"
sources=$work/mutants
mkdir -p "$sources/part/inner"
printf 'int f(int a) {\n    return a < 2;\n}\n' | tee "$sources/part/a.c" >"$sources/part/inner/b.c"
# fits LINE EQUIVALENT: what mutate_check.py says of a part that is listed so.
fits() { (cd "$sources" && echo "${2:-}" >equivalents && echo "$1" | python3 "$dingo_root/scripts/lib/mutate_check.py" equivalents) || true; }
check "mutants: a folder, and an equivalent in it" "" "$(fits 'p part' 'part/inner/b.c: return a <= 2; ## none')"
check "mutants: a file that is not there" "p: no such file: part/c.c" "$(fits 'p part part/c.c')"
check "mutants: one that is left out and not there" "p: no such file: part/c.c" "$(fits 'p part -part/c.c')"
check "mutants: one that is left out of another folder" "p: left out and not in the part: part/a.c" "$(fits 'p part/inner -part/a.c')"
check "mutants: an equivalent of a file that is left out" "equivalent of a file of no part: part/a.c: return a <= 2;" \
    "$(fits 'p part -part/a.c' 'part/a.c: return a <= 2; ## none')"
check "mutants: an equivalent that has become another line" "equivalent that no mutant makes: part/a.c: return a <= 3;" \
    "$(fits 'p part' 'part/a.c: return a <= 3; ## none')"
# A run that was ended leaves a mutant in its copy, and what was built of it is newer than the source.
mkdir -p "$sources/tree" "$sources/copy"
git -C "$sources/tree" init -q
echo 'int a = 1;' >"$sources/tree/a.c"
touch -d '1 hour ago' "$sources/tree/a.c"
copied() { PYTHONPATH=$dingo_root/scripts/lib python3 -c 'import mutate, sys; mutate.copy_tree(*sys.argv[1:])' "$sources/tree" "$sources/copy"; }
copied
check "mutants: a copy keeps the times of its sources" "yes" "$([ "$sources/copy/a.c" -nt "$sources/tree/a.c" ] || echo yes)"
echo 'int a = 2;' >"$sources/copy/a.c"
touch "$sources/copy/a.o"
sleep 0.02
copied
check "mutants: a source that takes a mutant's place is newer than what was built" "int a = 1; newer" \
    "$(cat "$sources/copy/a.c") $([ "$sources/copy/a.c" -nt "$sources/tree/a.c" ] && echo newer)"
