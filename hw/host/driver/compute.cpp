// SPDX-License-Identifier: BSD-2-Clause
//
// The compute slot: the kernels, in the driver data of QUERY_DEVICE, and the method that chooses
// one.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dingo-abi.h"
#include "host/driver/driver.h"
#include "host/driver/qp.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {
namespace {

dingo_compute_kernel describe(const AdminQueue::Results& answer) {
    dingo_compute_kernel kernel{};
    std::memcpy(kernel.name, &answer[1], sizeof kernel.name);
    kernel.id = static_cast<std::uint32_t>(answer[0]);
    kernel.smallest_param = static_cast<std::uint32_t>(answer[3]);
    kernel.largest_param = static_cast<std::uint32_t>(answer[3] >> 32);
    kernel.record = static_cast<std::uint32_t>(answer[4]);
    return kernel;
}

}  // namespace

void Driver::query_compute(Udata& udata) {
    udata_none(udata);
    dingo_query_device_resp resp{};
    if (caps_.has(DINGO_CAP_COMPUTE)) {
        dingo_cmd_query_compute cmd{};
        std::uint32_t kernels = 0;
        do {
            const auto answer = admin().execute(DINGO_OP_QUERY_COMPUTE, cmd);
            kernels = static_cast<std::uint32_t>(answer[0] >> 32);
            resp.kernels[cmd.index] = describe(answer);
        } while (++cmd.index < std::min<std::uint32_t>(kernels, DINGO_MAX_KERNELS));
        resp.num_kernels = cmd.index;
    }
    udata_out(udata, resp);
}

void Qp::set_compute(const dingo_set_compute_req& req) {
    const bool receive = req.direction == DINGO_COMPUTE_RECEIVE;
    if (req.comp_mask != 0 || (req.direction != DINGO_COMPUTE_SEND && !receive) ||
        !driver_.capabilities().has(receive ? DINGO_CAP_COMPUTE_RX : DINGO_CAP_COMPUTE)) {
        throw ErrnoError(EOPNOTSUPP);
    }
    dingo_cmd_set_compute cmd{};
    cmd.qpn = number();
    cmd.kernel = req.kernel;
    cmd.param = req.param;
    cmd.direction = req.direction;
    driver_.admin().execute(DINGO_OP_SET_COMPUTE, cmd);
    computes_ = computes_ || req.kernel != DINGO_KERNEL_PASS;
}

}  // namespace dingo::uverbs
