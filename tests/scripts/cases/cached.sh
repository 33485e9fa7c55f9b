# SPDX-License-Identifier: BSD-2-Clause
# `cached` keeps only products that a builder finished, however it is called. Sourced by suite.sh.
some_words=(two words)
good_builder() {
    mkdir "$1"
    printf '%s %s %s\n' "${some_words[*]}" "$2" "$dingo_root" >"$1/product"
}
# A builder that fails in the middle, before commands that succeed.
bad_builder() {
    mkdir "$1"
    cp "$work/nothing" "$1/product"
    echo half >"$1/other"
}
bad_pipe_builder() {
    mkdir "$1"
    cat "$work/nothing" | sort >"$1/product"
    echo half >"$1/other"
}
bad_variable_builder() {
    mkdir "$1"
    echo "$no_such_variable" >"$1/product"
    echo half >"$1/other"
}
# asks NAME BUILDER: calls `cached` before `||`, as scripts do. Prints the status, the number of
# builds, and the kept files.
asks() {
    local dir rc=0
    dir=$(cached "$1" v1 "$2" "$3") || rc=$?
    echo "$rc $(ls "$DINGO_CACHE" | grep -c "^$1") $([ "$rc" = 0 ] && cat "$dir/product")"
}
check 'a builder has the functions, arrays and arguments of its caller' "0 1 two words argument $dingo_root" "$(asks good good_builder argument)"
check 'what is built is not built again' "0 1 two words argument $dingo_root" "$(good_builder() { false; }; asks good good_builder argument)"
for kind in bad bad_pipe bad_variable; do
    check "${kind//_/ } builder behind ||: it fails and nothing is kept" '125 0 ' "$(asks $kind ${kind}_builder x 2>/dev/null)"
    rc=0
    if (cached "$kind-if" v1 ${kind}_builder x) >/dev/null 2>&1; then rc=0; else rc=$?; fi
    check "${kind//_/ } builder in an if: it fails" 125 "$rc"
done
check 'the log of what failed is shown' 1 "$(asks loud bad_builder x 2>&1 >/dev/null | grep -c "cannot stat '$work/nothing'")"
strict_status() { if strictly "$@" 2>/dev/null; then echo 0; else echo $?; fi; }
fails_in_the_middle() { false; echo went on; }
check 'strictly: a function ends at the first command that fails' 1 "$(strict_status fails_in_the_middle)"
check 'strictly: its status' 7 "$(strict_status exit 7)"
