# SPDX-License-Identifier: BSD-2-Clause
# scripts/mutate.sh: the files of its parts exist, and each known equivalent is a mutant of one of
# them.
check "mutants: lists of files and equivalents fit the tree" "" "$(scripts/mutate.sh --check 2>&1)"
sources=$work/mutants
mkdir -p "$sources/part/inner"
printf 'int f(int a) {\n    return a < 2;\n}\n' | tee "$sources/part/a.c" >"$sources/part/inner/b.c"
# fits LINE EQUIVALENT: prints mutate_check.py's output for a part listed by LINE.
fits() { (cd "$sources" && echo "${2:-}" >equivalents && echo "$1" | python3 "$dingo_root/scripts/lib/mutate_check.py" equivalents) || true; }
check "mutants: a folder, and an equivalent in it" "" "$(fits 'p part' 'part/inner/b.c: return a <= 2; ## none')"
check "mutants: a file that is not there" "p: no such file: part/c.c" "$(fits 'p part part/c.c')"
check "mutants: one that is left out and not there" "p: no such file: part/c.c" "$(fits 'p part -part/c.c')"
check "mutants: one that is left out of another folder" "p: left out and not in the part: part/a.c" "$(fits 'p part/inner -part/a.c')"
check "mutants: an equivalent of a file that is left out" "equivalent of a file of no part: part/a.c: return a <= 2;" \
    "$(fits 'p part -part/a.c' 'part/a.c: return a <= 2; ## none')"
check "mutants: an equivalent that has become another line" "equivalent that no mutant makes: part/a.c: return a <= 3;" \
    "$(fits 'p part' 'part/a.c: return a <= 3; ## none')"
# An interrupted run leaves a mutant in its copy, and objects of it that are newer than the source.
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
# With --at-once, one program has all mutants: it behaves like the source if none is chosen, else
# like the chosen mutant.
cat >"$sources/once.cpp" <<'SOURCE'
#include <cstdio>
int f(int a) {
    if (a > 2 && a != 7)
        ++a;
    a += a == 3 ? 4 : 5;
    return a + 1;
}
int main() {
    std::printf("%d %d %d\n", f(1), f(3), f(7));
}
SOURCE
cat >"$sources/once.py" <<'SCRIPT'
import subprocess
import sys

import mutants
from mutants_at_once import Text


def build(text):
    subprocess.run(["c++", "-w", "-x", "c++", "-o", "once", "-"], input=text, text=True, check=True)


def output(**environment):
    return subprocess.run(["./once"], env=environment, capture_output=True, text=True, check=True).stdout


with open("once.cpp", encoding="utf-8") as file:
    source = file.read()
every = dict(enumerate(mutants.mutants_of("once.cpp")))
text = Text(source, every, sys.argv[1])
build(text.text())
together = [output()] + [output(DINGO_MUTANT=str(number)) for number in every]
sampled = [0, *range(1, len(together), 4)]
for number in sampled:
    build(mutants.apply(source, every[number - 1]) if number else source)
    if output() != together[number]:
        print("not the same:", every[number - 1] if number else "the source")
print(len(every), "mutants,", len(text.unfit), "unfit")
SCRIPT
check "mutants: many in one program, each as if it were alone" "21 mutants, 0 unfit" \
    "$(cd "$sources" && PYTHONPATH=$dingo_root/scripts/lib python3 once.py "$dingo_root" 2>&1)"
