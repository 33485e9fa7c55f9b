// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/access.h"

#include <rdma/ib_user_ioctl_verbs.h>

#include <utility>

#include "dingo_hw.h"

namespace dingo::uverbs {

std::uint32_t card_access(std::uint32_t access) {
    constexpr std::pair<std::uint32_t, std::uint32_t> kMap[] = {
        {IB_UVERBS_ACCESS_LOCAL_WRITE, DINGO_ACC_LOCAL_WRITE},
        {IB_UVERBS_ACCESS_REMOTE_WRITE, DINGO_ACC_REMOTE_WRITE},
        {IB_UVERBS_ACCESS_REMOTE_READ, DINGO_ACC_REMOTE_READ},
        {IB_UVERBS_ACCESS_REMOTE_ATOMIC, DINGO_ACC_REMOTE_ATOMIC},
        {IB_UVERBS_ACCESS_MW_BIND, DINGO_ACC_MW_BIND}};
    std::uint32_t card = 0;
    for (const auto& [verbs, ours] : kMap) {
        card |= (access & verbs) != 0 ? ours : 0;
    }
    return card;
}

}  // namespace dingo::uverbs
