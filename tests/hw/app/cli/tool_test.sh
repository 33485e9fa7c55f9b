#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Drives the command `dingo` as a user would, in a run directory of its own.
# usage: tool_test.sh BUILD/bin/dingo
set -uo pipefail
dingo=$1
DINGO_RUN=$(mktemp -d /tmp/dingo-tool-XXXXXX)
export DINGO_RUN
unset DINGO_VIEW LD_PRELOAD RDMAV_DRIVERS IBV_DRIVERS
failed=0
trap '"$dingo" card stop --all >/dev/null 2>&1; rm -rf "$DINGO_RUN"' EXIT

# expect STATUS TEXT COMMAND...: checks the command's exit status and that its output matches TEXT.
expect() {
    local status=$1 text=$2 out rc=0
    shift 2
    out=$("$@" 2>&1) || rc=$?
    if [ "$rc" = "$status" ] && grep -qE -- "$text" <<<"$out"; then
        echo "ok   ${*/$dingo/dingo}"
    else
        echo "FAIL ${*/$dingo/dingo}: status $rc, not $status, or no '$text' in: $out"
        failed=1
    fi
}
# field JSON-PATH: prints the value at a Python subscript path in the JSON on stdin.
field() { python3 -c "import json,sys; print(json.load(sys.stdin)$1)"; }

echo "-- usage"
expect 0 'run .*card .*stats|run' "$dingo" --help
expect 0 'Exit codes' "$dingo" --help
expect 0 '^dingo [0-9]' "$dingo" --version
expect 2 'subcommand' "$dingo"
expect 2 '.' "$dingo" frobnicate
expect 2 'no command' "$dingo" run
expect 2 'no command' "$dingo" run --
expect 2 '.' "$dingo" run --no-such-option -- true
expect 2 'is not a valid card name' "$dingo" card start ../evil
expect 2 'is not a valid card name' "$dingo" card start views
expect 2 'is not a valid card name' "$dingo" card show a/b
expect 2 'NAME' "$dingo" card stop
expect 2 '.' "$dingo" card start a --mtu 1000
expect 2 '.' "$dingo" card start a --device-memory 1G
expect 2 '.' "$dingo" completion tcsh
expect 2 "Did you mean 'dingo card list'" "$dingo" list
expect 2 "Did you mean 'dingo card start'" "$dingo" card strat
expect 2 'needs a command: start, stop' "$dingo" card
expect 2 'Did you mean --watch' "$dingo" stats --wacth
expect 2 "'abc' is neither a number of seconds nor a card" "$dingo" stats --watch abc
expect 2 'dingo pair A B -- COMMAND' "$dingo" pair a b
expect 2 "^--wait: 'zork' is no number greater than 0\$" "$dingo" pair --wait zork -- true
expect 2 "^--wait: '0' is no number greater than 0\$" "$dingo" pair --wait 0 -- true
expect 2 "^--linger: '-1' is no number of at least 0\$" "$dingo" pair --linger -1 -- true
expect 2 "^--timeout: 'nan' is no number greater than 0\$" "$dingo" pair --timeout nan -- true
expect 2 "no column 'zork'.*OUT_BYTES, .*PEER, .*acks_rcvd" "$dingo" stats --sort zork
expect 2 "no column 'OUT_BYTES'.*OUT_GBIT/S, " "$dingo" --json stats --watch 1 --sort OUT_BYTES
expect 2 'each with its own' "$dingo" pair a b --ip 10.0.0.1/24 -- true
for shell in bash zsh fish; do expect 0 'dingo card list' "$dingo" completion $shell; done
# completes 'WORDS' EXPECTED...: checks that bash offers every EXPECTED word after WORDS.
completes() {
    local offered word
    offered=" $(PATH=$(dirname "$dingo"):$PATH bash --norc -c 'eval "$(dingo completion bash)"
        read -ra COMP_WORDS <<<"$1"; [[ $1 != *" " ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _dingo; echo "${COMPREPLY[*]}"' - "$1") "
    shift
    for word in "$@"; do [[ $offered == *" $word "* ]] || { echo "FAIL completion lacks $word: $offered"; failed=1; }; done
}
completes 'dingo ' run pair card stats doctor completion --json
completes 'dingo card ' start stop list show
completes 'dingo run --c' --card --cluster
completes 'dingo card start x --wire ' shm roce none
completes 'dingo card start --mtu ' 256 4096
completes 'dingo completion ' bash zsh fish
for shell in bash zsh fish; do
    command -v $shell >/dev/null || continue
    "$dingo" completion $shell | $shell -n || { echo "FAIL the completion for $shell does not parse"; failed=1; }
done

echo "-- nothing runs"
expect 0 'no card runs' "$dingo" card list
expect 0 '^\[\]' "$dingo" card list --json
expect 3 "no card 'a'" "$dingo" card stop a
expect 3 "no card 'a'" "$dingo" card show a
expect 3 "no card 'a'" "$dingo" stats a
expect 0 'no card runs' "$dingo" stats

echo "-- a bad start shows the card's own words and leaves nothing behind"
expect 2 'unknown wire' "$dingo" card start a --wire nonsense
expect 2 'fault|drop' "$dingo" card start a --faults frobnicate=1
expect 2 '.' "$dingo" card start a --ip 300.1.1.1/24
expect 1 'pcap: cannot write' "$dingo" card start a --pcap /no/such/directory/x.pcap
# shellcheck disable=SC2016  # the inner shell's
expect 1 'File too large' bash -c 'ulimit -f 100; exec "$0" card start a --own-process' "$dingo"
[ ! -e "$DINGO_RUN/a" ] || { echo "FAIL a directory was left behind"; failed=1; }

echo "-- two cards"
expect 0 'card a runs: uverbs0, 10.77.0.1/24 fd77::1/64' "$dingo" card start a --own-process
expect 1 'runs already' "$dingo" card start a
expect 0 '"number": 1' "$dingo" card start b --own-process --json
expect 0 '^a +running' "$dingo" card list
[ "$("$dingo" card list -q | tr '\n' ' ')" = "a b " ] || { echo "FAIL card list -q"; failed=1; }
[ "$("$dingo" card list --json | field '[1]["name"]')" = b ] || { echo "FAIL card list --json"; failed=1; }
pid=$("$dingo" card show a --json | field '["pid"]')
[ "$(readlink "/proc/$pid/cwd")" = / ] || { echo "FAIL the card's directory is not /"; failed=1; }
[ "$(stat -c %a "$DINGO_RUN/a")" = 700 ] || { echo "FAIL the card's directory is open to others"; failed=1; }
expect 0 '"tx_frames"' "$dingo" stats --json
expect 0 '^CARD' "$dingo" stats a
completes 'dingo card stop ' a b
completes 'dingo stats ' a b --watch
completes 'dingo run --share --card ' a b
completes 'dingo pair a ' a b
expect 124 'GBIT/S' timeout 1 "$dingo" stats --watch 0.2 a
expect 124 'GBIT/S' timeout 4 "$dingo" stats --watch a
expect 0 '^CARD' "$dingo" stats --sort OUT_BYTES
expect 0 '^CARD' "$dingo" stats --sort PEER
expect 2 "no column 'zork'" "$dingo" stats --sort zork
expect 0 '^mac +([0-9a-f]{2}:){5}' "$dingo" card show a
expect 0 '10.77.0.1$' "$dingo" card show a
expect 0 '^active_mtu +4096' "$dingo" card show a
for width in 40 60 80 120; do
    wide=$(for what in 'card list' 'stats a'; do COLUMNS=$width "$dingo" $what; done | awk -v w=$width 'length > w')
    [ -z "$wide" ] || { echo "FAIL wider than $width columns: $wide"; failed=1; }
done

echo "-- cards in one process"
expect 0 'card d runs: uverbs2' "$dingo" card start d --one-process
expect 0 'card e runs: uverbs3' "$dingo" card start e --one-process
expect 2 'not a valid name of a network' "$dingo" card start f --one-process --wire shm:a/b
"$dingo" card start f --one-process --faults frobnicate=1 2>&1 | grep -qE '^;|; its log' && { echo "FAIL half a sentence"; failed=1; }
expect 2 'needs a process of its own' "$dingo" card start f --one-process --wire none
expect 2 'needs a process of its own' "$dingo" card start f --one-process --share
expect 2 'excludes' "$dingo" card start f --one-process --own-process
one=$("$dingo" card show d --json | field '["pid"]')
[ "$one" = "$("$dingo" card show e --json | field '["pid"]')" ] || { echo "FAIL d and e are not in one process"; failed=1; }
[ "$one" != "$pid" ] || { echo "FAIL d is in the process of a"; failed=1; }
expect 0 'card d stopped' "$dingo" card stop d
[ ! -e "$DINGO_RUN/d" ] || { echo "FAIL a stopped card left its directory"; failed=1; }
expect 0 '^e +running' "$dingo" card list
expect 0 'card d runs: uverbs2' "$dingo" card start d --one-process
expect 0 'card e stopped' "$dingo" card stop e
expect 0 'card d stopped' "$dingo" card stop d
for _ in $(seq 100); do [ -e "/proc/$one" ] || break; sleep 0.02; done # until its parent has reaped it
[ ! -e "/proc/$one" ] || { echo "FAIL the process did not end with its last card"; failed=1; }

echo "-- a killed card is seen, and replaced"
kill -9 "$pid"
while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
expect 0 '^a +dead' "$dingo" card list
expect 3 'start it' "$dingo" stats a
expect 0 'card a runs: uverbs0' "$dingo" card start a

echo "-- two starts at once"
"$dingo" card start c >"$DINGO_RUN/.1" 2>&1 & one=$!
"$dingo" card start c >"$DINGO_RUN/.2" 2>&1 & two=$!
wait $one; r1=$?
wait $two; r2=$?
[ $((r1 + r2)) = 1 ] || { echo "FAIL two starts at once: $r1 and $r2: $(cat "$DINGO_RUN/.1" "$DINGO_RUN/.2")"; failed=1; }
expect 0 'card c stopped' "$dingo" card stop c
[ ! -e "$DINGO_RUN/c" ] || { echo "FAIL a stopped card left its directory"; failed=1; }

echo "-- a lock that somebody holds, and what is no file"
for file in nets/default/.lock .numbers; do
    for process in --own-process --one-process; do
        flock -F "$DINGO_RUN/$file" sleep 30 & holder=$!
        sleep 0.2
        expect 1 "has held .*$file" timeout 10 "$dingo" card start c $process
        expect 0 '^a +running' timeout 10 "$dingo" card list
        kill $holder; wait $holder 2>/dev/null
        [ ! -e "$DINGO_RUN/c" ] || { echo "FAIL a start that did not succeed left its directory"; failed=1; }
    done
done
mkdir -m 700 "$DINGO_RUN/c" && mkfifo "$DINGO_RUN/c/card.json" "$DINGO_RUN/c/log" "$DINGO_RUN/c/lock"
expect 0 '^c +dead' timeout 5 "$dingo" card list
expect 0 'card c runs' timeout 10 "$dingo" card start c --own-process
expect 0 'card c stopped' "$dingo" card stop c
mkdir -m 700 "$DINGO_RUN/c" && touch "$DINGO_RUN/c/log" # left by a start that was killed
expect 0 'was not running; removed its directory' "$dingo" card stop c

echo "-- a run directory that is named from here"
expect 0 '^a +running' env -C "${DINGO_RUN%/*}" DINGO_RUN="${DINGO_RUN##*/}" "$dingo" card list

echo "-- run"
if "$dingo" doctor --json | python3 -c 'import json,sys
sys.exit(any(c["verdict"] == "fail" and c["check"] in ("provider", "preload library") for c in json.load(sys.stdin)["checks"]))'; then
    expect 0 '^/.*/a$' "$dingo" run --card a -- sh -c 'echo $DINGO_VIEW'
    expect 0 'views/a\+b' "$dingo" run --card a --card b sh -c 'echo $DINGO_VIEW'
    expect 0 'libdingo-preload.so' "$dingo" run --card a -- sh -c 'echo $LD_PRELOAD'
    expect 0 '/libdingo:mlx5$' env RDMAV_DRIVERS=mlx5 "$dingo" run --card a -- sh -c 'echo $RDMAV_DRIVERS'
    # UCX 1.19 and later would look for a route of the kernel to the peer.
    expect 0 '^y 0$' "$dingo" run --card a -- sh -c 'echo $UCX_IB_ROCE_LOCAL_SUBNET $UCX_IB_ROCE_SUBNET_PREFIX_LEN'
    expect 0 '^n$' env UCX_IB_ROCE_LOCAL_SUBNET=n "$dingo" run --card a -- sh -c 'echo $UCX_IB_ROCE_LOCAL_SUBNET $UCX_IB_ROCE_SUBNET_PREFIX_LEN'
    expect 0 '^route  $' env UCX_IB_ROCE_REACHABILITY_MODE=route "$dingo" run --card a -- \
        sh -c 'echo "$UCX_IB_ROCE_REACHABILITY_MODE $UCX_IB_ROCE_LOCAL_SUBNET $UCX_IB_ROCE_SUBNET_PREFIX_LEN"'
    expect 0 '^verify_asan_link_order=0$' env -u ASAN_OPTIONS "$dingo" run --card a -- sh -c 'echo $ASAN_OPTIONS'
    expect 0 '^a=1:verify_asan_link_order=0$' env ASAN_OPTIONS=a=1 "$dingo" run --card a -- sh -c 'echo $ASAN_OPTIONS'
    expect 0 '^verify_asan_link_order=1$' env ASAN_OPTIONS=verify_asan_link_order=1 "$dingo" run --card a -- sh -c 'echo $ASAN_OPTIONS'
    expect 0 "^$DINGO_RUN\$" env -C "${DINGO_RUN%/*}" DINGO_RUN="${DINGO_RUN##*/}" "$dingo" run --card a -- sh -c 'echo $DINGO_RUN'
    expect 7 '' "$dingo" run --card a -- sh -c 'exit 7'
    expect 127 'cannot run' "$dingo" run --card a -- no-such-program
    expect 126 'cannot run' "$dingo" run --card a -- /etc/passwd
    expect 3 "no card 'z'" "$dingo" run --card z -- true
    printf '#!%s\n' "$DINGO_RUN/musl" >"$DINGO_RUN/script"
    python3 - "$(type -P true)" "$DINGO_RUN/musl" <<'EOF'
import sys
text = open(sys.argv[1], "rb").read()
at = text.index(b"/lib64/ld-linux")
open(sys.argv[2], "wb").write(text[:at] + b"/lib/ld-musl-x86_64.so.1\0\0\0"[:len(b"/lib64/ld-linux-x86-64.so.2")] + text[at + 27:])
EOF
    chmod 755 "$DINGO_RUN/musl" "$DINGO_RUN/script"
    expect 126 'C library musl' "$dingo" run --card a -- "$DINGO_RUN/musl"
    expect 126 'C library musl' "$dingo" run --card a -- "$DINGO_RUN/script"
    expect 127 'warning: .*musl' "$dingo" run --force --card a -- "$DINGO_RUN/script"
    { cat "$(type -P true)" && echo __interceptor_mmap; } >"$DINGO_RUN/sanitized"
    chmod 755 "$DINGO_RUN/sanitized"
    expect 0 "warning: .*sanitizer's runtime.*-shared-libsan" "$dingo" run --card a -- "$DINGO_RUN/sanitized"
    if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
        mkdir "$DINGO_RUN/.root"
        cp "$(type -P true)" "$DINGO_RUN/chroot"
        expect 126 'swap the two commands: chroot' "$dingo" run --card a -- "$DINGO_RUN/chroot" "$DINGO_RUN/.root" ibv_devinfo
        expect 0 '' "$dingo" run --card a -- "$DINGO_RUN/chroot" / true
        expect 1 '/proc/self/mem: No such file.*mount /proc' unshare --mount sh -c "mount -t tmpfs none /proc && $dingo run --card a -- true"
        expect 1 '/proc/self/mem: Read-only.*mount /proc' unshare --mount sh -c "mount -o remount,bind,ro /proc && $dingo run --card a -- true"
    fi
    expect 0 'started card dingo0' "$dingo" run -- true
    expect 0 '^$' "$dingo" run -- true
    if command -v ibv_devices >/dev/null; then
        expect 0 '\bdingo0\b' "$dingo" run -- ibv_devices
        expect 0 '\bb\b' "$dingo" run -c a -c b -- ibv_devices
    fi
else
    echo "SKIP run: the provider or the preload library is not built"
fi

echo "-- a system call that a filter denies is named"
cat >"$DINGO_RUN/denied.py" <<'EOF'
# denied.py NUMBER COMMAND...: runs the command with system call NUMBER failing with EPERM.
import ctypes, os, struct, sys
number = int(sys.argv[1])
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *r) for r in rules))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
program = Program(len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execvp(sys.argv[2], sys.argv[2:])
EOF
if [ "$(uname -m)" = x86_64 ]; then
    eventfd2=290
    expect 1 'eventfd2 is denied' python3 "$DINGO_RUN/denied.py" $eventfd2 "$dingo" doctor
    expect 1 'eventfd2 is denied.*seccomp' python3 "$DINGO_RUN/denied.py" $eventfd2 "$dingo" run --card a -- true
fi

echo "-- a segment of another user"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    user_run=$(mktemp -d /tmp/dingo-user-XXXXXX)
    mkdir "$user_run/net"
    (umask 077; : >"$user_run/net/.lock")
    chmod 755 "$user_run" "$user_run/net"
    mkdir "$user_run/run" && chown 65534:65534 "$user_run/run"
    expect 1 "belongs to user 0, and you are user 65534.*--wire roce:127.0.0.2.*--share" \
        setpriv --reuid=65534 --regid=65534 --clear-groups env DINGO_RUN="$user_run/run" "$dingo" card start x --wire "shm:$user_run/net"
    rm -rf "$user_run"
else
    echo "SKIP a segment of another user: needs root"
fi

echo "-- stop"
expect 0 'card b stopped' "$dingo" card stop --all
expect 0 'no card runs' "$dingo" card list
exit $failed
