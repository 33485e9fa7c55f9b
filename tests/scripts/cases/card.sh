# SPDX-License-Identifier: BSD-2-Clause
# `vm.sh card start` after the card's death, when QEMU keeps a dead connection. Sourced by suite.sh.
# started CARD-LIVES PLUGGED: prints the requests to the supervisor and to QEMU.
started() (
    here=$PWD/scripts session=$work/session
    . scripts/lib/commands.sh
    mkdir -p "$session"
    echo "$2" >"$session/plugged"
    : >"$session/asked"
    side_of() { echo A; }
    kind_of() { echo card; }
    card_device_json() { echo '{}'; }
    alive() { [ "$1" = "$session/A.card.pid" ] && [ "$lives" = yes ]; }
    lives=$1
    plugged() { [ "$(cat "$session/plugged")" = yes ]; }
    supervisor_request() { echo "$1" >>"$session/asked"; }
    qmp() {
        case $2 in
        *device_del*) echo no >"$session/plugged"; echo device_del >>"$session/asked" ;;
        *device_add*) echo yes >"$session/plugged"; echo device_add >>"$session/asked" ;;
        esac
    }
    cmd_card A start >/dev/null 2>&1
    xargs <"$session/asked"
)
check 'card start after its death: unplugged, and a new one plugged in' 'device_del card-stop card-stop card-start device_add' "$(started no yes)"
check 'card start of a card that is not plugged in: only its process' 'card-start' "$(started no no)"
check 'card start of a card that lives: the supervisor answers' 'card-start' "$(started yes yes)"
