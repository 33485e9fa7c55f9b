// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/ioctl.h"

#include <rdma/ib_user_ioctl_verbs.h>

#include <cerrno>
#include <utility>

namespace dingo::uverbs {
namespace {

constexpr std::size_t kMaxLength = 4096;

using Key = std::pair<std::uint16_t, std::uint16_t>;

const IoctlMethod& method_of(std::uint16_t object, std::uint16_t method) {
    static const auto kMethods = [] {
        std::map<Key, IoctlMethod> all;
        for (auto* const list : {device_methods, queue_methods, memory_methods, dm_methods}) {
            for (IoctlMethod& m : list()) {
                const Key key{m.object, m.method};
                all.emplace(key, std::move(m));
            }
        }
        return all;
    }();
    const auto at = kMethods.find({object, method});
    if (at == kMethods.end()) {
        throw ErrnoError(EPROTONOSUPPORT);
    }
    return at->second;
}

}  // namespace

int execute_ioctl(Call& call) {
    const std::span<const std::byte> payload(call.message().payload);
    if (payload.size() < sizeof(ib_uverbs_ioctl_hdr)) {
        throw ErrnoError(EFAULT);
    }
    ib_uverbs_ioctl_hdr hdr;
    std::memcpy(&hdr, payload.data(), sizeof hdr);
    if (hdr.length > kMaxLength || hdr.length != payload.size() ||
        hdr.length != sizeof hdr + std::size_t{hdr.num_attrs} * sizeof(ib_uverbs_attr)) {
        throw ErrnoError(EINVAL);
    }
    if (hdr.reserved1 != 0 || hdr.reserved2 != 0) {
        throw ErrnoError(EPROTONOSUPPORT);
    }
    if (hdr.driver_id != RDMA_DRIVER_UNKNOWN) {
        throw ErrnoError(EINVAL);
    }
    const IoctlMethod& method = method_of(hdr.object_id, hdr.method_id);
    std::vector<ib_uverbs_attr> attributes(hdr.num_attrs);
    if (!attributes.empty()) {
        std::memcpy(attributes.data(), payload.data() + sizeof hdr,
                    attributes.size() * sizeof(ib_uverbs_attr));
    }
    IoctlCall c(call, method, attributes);
    method.handler(c);
    c.finish();
    return 0;
}

}  // namespace dingo::uverbs
