#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests dingo-criteo on files: conversion there and back, bad lines, wrong usage.
# usage: criteo_test.sh BUILD/bin/dingo-criteo
set -uo pipefail
criteo=$1
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# check NAME STATUS REGEX COMMAND: checks the exit status, and that a line of the output matches
# REGEX.
check() {
    local rc=0
    bash -c "$4" >out 2>&1 || rc=$?
    if [ $rc != "$2" ]; then echo "FAIL $1: status $rc: $(tail -n 3 out)"; failed=1
    elif ! grep -qE "$3" out; then echo "FAIL $1: no line like /$3/: $(tail -n 3 out)"; failed=1
    else echo "ok   $1"; fi
}

check 'generates lines' 0 '^1000 records' "$criteo generate -n 1000 -s 3 a.tsv"
check 'lines to records' 0 '^1000 records, 0 bad lines' "$criteo to-records a.tsv a.rec"
check 'records to lines' 0 '^1000 records' "$criteo to-tsv a.rec b.tsv && cmp a.tsv b.tsv"
check 'generates the same records' 0 '' "$criteo generate -n 1000 -s 3 -f records b.rec && cmp a.rec b.rec"
check 'through pipes' 0 '' "$criteo to-records - - <a.tsv 2>/dev/null | $criteo to-tsv - | cmp - a.tsv; echo"
{ head -n 2 a.tsv; echo rubbish; printf '1'; printf '\tx%.0s' {1..39}; echo; tail -n 1 a.tsv; } >bad.tsv
check 'bad lines are named' 1 '^bad.tsv:3: 1 fields instead of 40$' "$criteo to-records bad.tsv bad.rec"
check 'so is what is wrong' 1 "^bad.tsv:4: integer 1: 'x' is no number" "$criteo to-records bad.tsv bad.rec"
check 'and counted' 1 '^3 records, 2 bad lines' "$criteo to-records bad.tsv bad.rec"
check 'good ones are kept' 0 '^576$' 'wc -c <bad.rec'
check 'bad lines may be left out' 0 '2 bad lines' "$criteo to-records --skip-bad bad.tsv bad.rec"
check 'and not shown' 1 '^1$' "$criteo to-records --show-bad 1 bad.tsv - 2>&1 >/dev/null | grep -c bad.tsv:; exit 1"
check 'a line without an end' 0 '^1 records, 0' "head -n 1 a.tsv | tr -d '\n' | $criteo to-records - c.rec"
check 'half a record' 1 'a.cut: 100 bytes after the last whole record of 192' "head -c 484 a.rec >a.cut; $criteo to-tsv a.cut -"
check 'preprocess' 0 '^1000 records' "$criteo preprocess -m 8192 a.rec p.rec && [ \$(wc -c <p.rec) = 192000 ]"
check 'no such file' 1 'dingo-criteo: nothing.tsv: No such file' "$criteo to-records nothing.tsv -"
check 'lines that cannot be read' 1 'dingo-criteo: \.: Is a directory' "$criteo to-records . -"
check 'records that cannot be read' 1 'dingo-criteo: \.: Is a directory' "$criteo to-tsv . -"
check 'input that cannot be read' 1 'standard input: Is a directory' "$criteo preprocess -m 9 - - <."
check 'a full disk' 1 'standard output: No space left' "$criteo generate -n 100000 >/dev/full"
check 'no command' 2 '' "$criteo"
check 'a modulus of 0' 2 'modulus' "$criteo preprocess -m 0 a.rec -"
check 'version' 0 '^dingo-criteo [0-9]' "$criteo --version"
exit $failed
