# SPDX-License-Identifier: BSD-2-Clause
# Device code posts to cards. The CPU's threads simulate a GPU's, unless $gda is gda_traffic_cuda.
# Sourced by tools.sh and gpu-gda.sh.
# shellcheck disable=SC2154  # lib.sh's variables
gda=${gda:-$dingo_root/build/bin/gda_traffic}
both='alpha beta'
single 'gda: what verbs answer for queues of a device' "$both" "$gda verbs" 'as documented'
single 'gda: one thread' "$both" "$gda traffic 1 1 100" 'every byte and atomic is right'
single 'gda: 64 threads post to one QP' "$both" "$gda traffic 64 1 30" 'every byte and atomic is right'
single 'gda: 64 threads post to 64 QPs' "$both" "$gda traffic 64 64 30" 'every byte and atomic is right'
single 'gda: one card for both ends' alpha "$gda traffic 16 4 30" 'every byte and atomic is right'
single 'gda: full rings, nobody rings' "$both" "$gda full 16 2 300" 'filled 2 rings'
single 'gda: SEND' "$both" "$gda send" 'SEND: received'
single 'gda: single steps, counted by the kernel' "$both" "$gda steps 1 1 200" '200 rounds are right'
single 'gda: wrong rkey, flush, RESET' "$both" "$gda errors 1 1 5" 'are as they should be'
single 'gda: query, RESET and create beside a kernel and a capture' "$both" "$gda busy 4" 'as they should be'
single 'gda: posts in state ERR are flushed' "$both" "$gda flush 64" '64 posts are flushed'
single 'gda: example gpu_interchange' "$both" "$dingo_root/build/bin/gpu_interchange" '^=== Example completed successfully! ===$'
single 'gda: example gpu_interchange, 1 MiB' "$both" "$dingo_root/build/bin/gpu_interchange --size 1048576 --value 7" '^Success! All 1048576 bytes verified with value 7$'
single 'gda: example gpu_interchange on one card' alpha "$dingo_root/build/bin/gpu_interchange" '^  Found 1 active device port'
single 'gda: nothing is watched afterwards' alpha "$dingo --json stats alpha" '"watched": ?0'

start_card lossy_a --own-process --faults drop=1%,duplicate=1%,reorder=1%
start_card lossy_b --own-process --faults drop=1%,duplicate=1%,reorder=1%
single 'gda: 64 threads, one QP, 1 % loss' 'lossy_a lossy_b' "$gda traffic 64 1 20" 'every byte and atomic is right'
single 'gda: 64 threads, 64 QPs, 1 % loss' 'lossy_a lossy_b' "$gda traffic 64 64 20" 'every byte and atomic is right'
single 'gda: full rings, 1 % loss' 'lossy_a lossy_b' "$gda full 8 1 200" 'filled 1 rings'

# No loss between these two: an error completion before the kill would end the program differently.
start_card doomed_a --own-process
start_card doomed_b --own-process
# gda_killed NAME CARD LINE: case: the card's process is killed while threads wait for completions.
gda_killed() {
    local out pid
    out=$logs/$(slug "$1").out
    on 'doomed_a doomed_b' "$gda until-bad 8" >"$out" 2>&1 &
    pid=$!
    until_line "$out" running $pid || true
    kill -9 "$(card_pid "$2")"
    if wait $pid && grep -q "$3" "$out"; then pass "$1"; else fail "$1" "$(why "$out")"; fi
}
gda_killed 'gda: the card of the peer is killed' doomed_b 'the peer is gone'
start_card doomed_b --own-process
gda_killed 'gda: the card is killed' doomed_a 'the card is gone'
