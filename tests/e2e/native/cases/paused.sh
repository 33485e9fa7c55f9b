# SPDX-License-Identifier: BSD-2-Clause
# With a bad wire, many queue pairs and a peer's card that gets no processor for a while, no request
# fails with "retries exceeded".
# shellcheck source=tests/e2e/native/retries_lib.sh
. "$dingo_root/tests/e2e/native/retries_lib.sh"
# The pause is longer than eight times T_tr (0.54 s), but shorter than eight timeouts that grow as
# C9-140 allows (1.4 s).
pause_again_and_again() {
    while sleep 2; do
        kill -STOP "$alpha_pid"
        sleep 0.65
        kill -CONT "$alpha_pid"
    done
}
beside pause_again_and_again
retried "the peer's card gets no processor for 0.65 s at a time: READs" 'read-bw -s 64k -D 6 -t 2'
retried "the peer's card gets no processor for 0.65 s at a time: WRITEs" 'write-bw -s 64k -D 6 -t 2'
end_others
