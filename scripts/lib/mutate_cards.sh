#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mutate_cards.sh BUILD: runs programs on two kernel-less cards, in seconds. scripts/mutate.sh runs
# this for mutants that no unit test kills. Status 0 if all pass.
set -euo pipefail
build=$1
dingo=$build/bin/dingo
DINGO_RUN=$(mktemp -d /tmp/dingo-mutate-XXXXXX)
export DINGO_RUN
finish() {
    # A mutant's card may no longer answer.
    timeout 5 "$dingo" card stop --all || true
    sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$DINGO_RUN"/*/card.json 2>/dev/null | xargs -r kill -KILL || true
    rm -rf "$DINGO_RUN"
}
trap finish EXIT

# pair SERVER CLIENT PORT: runs SERVER on alpha and CLIENT on beta, which starts when the server
# listens at PORT, or after 2.4 s.
pair() {
    local server ok=1
    timeout -k 2 30 "$dingo" run --card alpha -- bash -c "$1" &
    server=$!
    for _ in 1 2 3 4 5 6 7 8; do
        sleep 0.3
        ! ss -Hltn "sport = :$3" | grep -q . || break
    done
    timeout -k 2 30 "$dingo" run --card beta -- bash -c "$2" || ok=0
    wait $server || ok=0
    [ $ok = 1 ]
}

timeout -k 2 20 "$dingo" card start alpha
timeout -k 2 20 "$dingo" card start beta
pair "$build/bin/verbs_check -p 18601" "$build/bin/verbs_check -p 18601 127.0.0.1" 18601
for kind in rc ud srq; do
    pair "ibv_${kind}_pingpong -e -n 100 -g 1" "ibv_${kind}_pingpong -e -n 100 -g 1 127.0.0.1" 18515
done
timeout -k 2 120 "$dingo" run --card alpha -- "$build/bin/verbs_promises" -d alpha
