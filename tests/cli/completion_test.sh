#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests what bash offers after a program's words, and that each shell can parse its completion
# script.
# usage: completion_test.sh BUILD/bin/PROGRAM
set -uo pipefail
program=$1
name=$(basename "$program")
failed=0
fail() { echo "FAIL $*"; failed=1; }

# offered WORDS: prints what bash offers after WORDS, each between blanks.
offered() {
    echo " $("$program" completion bash | bash --norc -c 'eval "$(cat)"
        read -ra COMP_WORDS <<<"$1"; [[ $1 != *" " ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        "_${COMP_WORDS[0]//-/_}"; echo "${COMPREPLY[*]}"' - "$1") "
}
# completes WORDS EXPECTED...: checks that bash offers every EXPECTED word after WORDS.
completes() {
    local words=$1 all word
    all=$(offered "$words")
    shift
    for word in "$@"; do [[ $all == *" $word "* ]] && echo "ok   $words: $word" || fail "'$words' lacks $word: $all"; done
}
# hides WORDS UNWANTED...: checks that bash offers no UNWANTED word after WORDS.
hides() {
    local words=$1 all word
    all=$(offered "$words")
    shift
    for word in "$@"; do [[ $all != *" $word "* ]] && echo "ok   $words: no $word" || fail "'$words' has $word"; done
}

case $name in
    dingo)
        completes 'dingo ' run pair card stats doctor completion
        completes 'dingo card start --mtu ' 256 4096
        ;;
    dingo-card)
        completes 'dingo-card ' --vfio-user --uverbs --wire --faults ctl completion
        completes 'dingo-card --mtu ' 256 4096
        completes 'dingo-card --wire ' shm roce none
        completes 'dingo-card --engine ' model
        completes 'dingo-card completion ' bash zsh fish
        ;;
    gpu_interchange)
        completes 'gpu_interchange -' --mem --size --value -m
        completes 'gpu_interchange --mem ' host pinned cuda
        ;;
    local_transfer)
        completes 'local_transfer --' --device --kernel --side --min_size --list
        completes 'local_transfer -s ' send receive
        completes 'local_transfer --mem ' host cuda
        ;;
    p2p_cards) completes 'p2p_cards -' --from --to --size -f ;;
    p2p_file) completes 'p2p_file -' --device --write --seed --size ;;
    dingo-criteo)
        completes 'dingo-criteo ' to-records to-tsv preprocess generate completion
        completes 'dingo-criteo generate --' --records --seed --format
        completes 'dingo-criteo generate -f ' tsv records
        completes 'dingo-criteo completion ' bash zsh fish
        ;;
    rdma-bench)
        completes 'rdma-bench ' write-bw write-lat read-bw read-lat send-bw send-lat atomic-bw atomic-lat write-imm-bw write-imm-lat compare report completion
        completes 'rdma-bench write-bw --' --size --qp --json --repeat --report_gbits --security
        completes 'rdma-bench write-lat --report-' --report-histogram --report-cycles
        hides 'rdma-bench write-bw --' --report-histogram --interleave --dlid --odp
        completes 'rdma-bench read-bw -m ' 256 4096
        completes 'rdma-bench send-bw -s 64 -c ' RC UC UD
        completes 'rdma-bench atomic-bw -A ' FETCH_AND_ADD CMP_AND_SWAP
        completes 'rdma-bench write-bw --mem ' host huge cuda hip dm dmabuf:
        completes 'rdma-bench compare --' --threshold --interleave --tail
        hides 'rdma-bench compare --' --size --repeat
        completes 'rdma-bench completion ' bash zsh fish
        ;;
    qpxd)
        completes 'qpxd ' --listen --security --authorize --metrics --status --max-ranks completion
        completes 'qpxd --log-level ' debug info warning error
        completes 'qpxd -s ' none psk: tls:
        completes 'qpxd completion ' bash zsh fish
        ;;
    *) fail "no cases for $name" ;;
esac
for shell in bash zsh fish; do
    script=$("$program" completion $shell)
    [[ $script == *"completion of $name"* || $script == *"#compdef $name"* ]] || fail "no script for $shell"
    command -v $shell >/dev/null || continue
    $shell -n <<<"$script" || fail "the script for $shell does not parse"
done
for words in 'completion tcsh' 'completion' 'completion bash zsh'; do
    # shellcheck disable=SC2086
    out=$("$program" $words 2>&1)
    rc=$?
    [ $rc = 2 ] && [ -n "$out" ] && echo "ok   $words: status 2" || fail "$words: status $rc: $out"
done
exit $failed
