# SPDX-License-Identifier: BSD-2-Clause
# tests/comments.py, which tests/style.sh runs: riddles are found, in comments only.
sources=$work/comments
mkdir -p "$sources"
# found NAME TEXT: prints the number of lines that the check prints for a file with this text.
found() {
    printf '%b' "$2" >"$sources/$1"
    tests/comments.py "$sources/$1" | wc -l
}
check "comments: a pronoun" 1 "$(found a.h '/// The thread, while he has the gate.\nint a;\n')"
check "comments: a pronoun behind a field" 1 "$(found a.h 'int a;  ///< when he left\n')"
check "comments: a pronoun in a word and in a string" 0 "$(found a.h '/// The shelf.\nconst char* a = "// he";\n')"
check "comments: a sentence that begins with Who" 1 "$(found a.cpp '// One. Who polls sleeps\n// a little.\n')"
check "comments: a question inside a sentence" 0 "$(found a.cpp '// Says who sent it.\n')"
check "comments: a block that begins with Of" 1 "$(found a.c '/*\n * Of the peer.\n */\nint a;\n')"
check "comments: Of behind the first line" 0 "$(found a.cpp '// The bytes\n// Of a name.\n')"
check "comments: likewise alone" 1 "$(found a.h 'int a;  ///< likewise\n')"
check "comments: in vain, in a script" 1 "$(found a.sh '# It waits in vain.\ntrue\n')"
check "comments: a script's code" 0 "$(found a.sh 'echo "in vain"\n')"
