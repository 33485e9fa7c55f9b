# SPDX-License-Identifier: BSD-2-Clause
# With a bad wire, many queue pairs and busy processors, no request fails with "retries exceeded".
# shellcheck source=tests/e2e/native/retries_lib.sh
. "$dingo_root/tests/e2e/native/retries_lib.sh"
for _ in 1 2; do beside sh -c 'ulimit -t 600; while :; do :; done'; done
retried 'beside two processes that burn: WRITEs of 8 MiB' 'write-bw -s 8M -D 1 -t 1'
retried 'beside two processes that burn: READs of 1 MiB' 'read-bw -s 1M -n 5 -t 2'
retried 'beside two processes that burn: messages of 1 MiB' 'send-bw -s 1M -n 5 -t 2'
end_others
