#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mutate_cards.sh BUILD: two kernel-less cards and programs on them, in seconds: what scripts/mutate.sh runs when no unit test saw
# a mutant. Status 0 when all is well.
set -euo pipefail
build=$1
dingo=$build/bin/dingo
DINGO_RUN=$(mktemp -d /tmp/dingo-mutate-XXXXXX)
export DINGO_RUN
finish() {
    # A mutant's card may not listen any more.
    timeout 5 "$dingo" card stop --all || true
    sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$DINGO_RUN"/*/card.json 2>/dev/null | xargs -r kill -KILL || true
    rm -rf "$DINGO_RUN"
}
trap finish EXIT

# pair SERVER CLIENT: on alpha and beta; the server has a second to listen, the client tries again.
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
