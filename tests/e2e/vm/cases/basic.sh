# SPDX-License-Identifier: BSD-2-Clause
# Debian's programs, unmodified, with common options.
boot "${vm_options[@]}"
. tests/e2e/vm/cases/tools.sh

pair 'iperf3 over the card' 'iperf3 -s -1' 'iperf3 -c A -t 2' 'receiver'
pair 'iperf3 over IPv6, four streams' 'iperf3 -s -1' 'iperf3 -6 -c fd77::1 -P 4 -t 2' 'SUM.*receiver'
pair 'iperf3 -u' 'iperf3 -s -1' 'iperf3 -u -b 20M -l 8000 -c A -t 2' 'receiver'

. tests/e2e/cases/perftest.sh
. tests/e2e/vm/cases/examples.sh
. tests/e2e/vm/cases/multicast.sh
. tests/e2e/vm/cases/compute.sh
. tests/e2e/vm/cases/exchange.sh
. tests/e2e/vm/cases/bench.sh
. tests/e2e/vm/cases/storage.sh
. tests/e2e/vm/cases/smc.sh
single 'a resized CQ: who still maps the old ring keeps its pages' A old-ring 'kept through'
clean_dmesg '\] smc: '
