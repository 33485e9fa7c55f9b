// SPDX-License-Identifier: BSD-2-Clause
// Compiles the C headers as C++11 with warnings as errors, as many projects still do.
#include <qpx/qpx.h>
#include <qpx/qpx_group.h>

namespace {

const qpx_options peer = QPX_OPTIONS_INIT;
const qpx_describe_options wanted = QPX_DESCRIBE_OPTIONS_INIT;
const qpx_path_options path = QPX_PATH_OPTIONS_INIT;
const qpx_group_options group = QPX_GROUP_OPTIONS_INIT;

}  // namespace

int main() {
    const bool sizes = peer.struct_size == sizeof(peer) && wanted.struct_size == sizeof(wanted) &&
                       path.struct_size == sizeof(path) && group.struct_size == sizeof(group);
    const bool defaults = wanted.gid_index == -1 && wanted.max_rd_atomic == -1 &&
                          wanted.max_dest_rd_atomic == -1 && wanted.port == 1 &&
                          path.timeout == 14 && path.retry_cnt == 7 && path.rnr_retry == 7 &&
                          path.min_rnr_timer == 12 && path.hop_limit == 64 && path.access == -1 &&
                          path.grh == -1 && group.rank == QPX_ANY_RANK;
    const bool zero = peer.security == NULL && peer.stop_on_signal == 0 && wanted.mtu == 0 &&
                      wanted.allow_roce_v1 == 0 && path.sl == 0 && path.flow_label == 0 &&
                      group.size == 0 && group.security == NULL && group.stop_on_signal == 0;
    return sizes && defaults && zero ? 0 : 1;
}
