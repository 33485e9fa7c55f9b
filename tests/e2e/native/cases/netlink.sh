# SPDX-License-Identifier: BSD-2-Clause
# Emulated RDMA netlink: iproute2's `rdma` on kernel-less cards. Sourced by tools.sh.
single 'rdma link: as JSON, as pyverbs reads it' alpha "rdma link show -j | /usr/bin/python3 -c '
import json, sys
(link,) = json.load(sys.stdin)
assert (link[\"ifname\"], link[\"port\"], link[\"state\"]) == (\"alpha\", 1, \"ACTIVE\"), link'"
single 'rdma dev: GUID and firmware as in sysfs' alpha \
    'rdma -d dev show alpha | grep -F "fw $(cat /sys/class/infiniband/alpha/fw_ver) node_guid $(cat /sys/class/infiniband/alpha/node_guid)"'
single 'rdma dev: of a device that is not there' alpha '! rdma dev show nobody'
single 'rdma resource: counts' alpha 'rdma resource show' 'alpha: .*pd 0 .*cq 0 .*qp 0 .*ctx 0'
single 'rdma resource: objects as they are, in more entries than a message holds' alpha \
    "/usr/bin/python3 $dingo_root/tests/e2e/native/rdma_resource.py alpha 300" '^300 QPs as they are'
single 'rdma statistic: the counters of sysfs' alpha 'rdma statistic show link alpha/1' 'rdma_tx_packets [0-9]+'
single 'rdma system' alpha 'rdma system' 'netns shared'
single 'rdma: what changes a device is refused' alpha '! rdma dev set alpha name other 2>&1' 'not supported'
plain 'rdma link: several cards in one view' "$dingo run --card alpha --card beta -- rdma link" 'beta/1 state ACTIVE'
