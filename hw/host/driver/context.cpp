// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/context.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "base/quota.h"
#include "dingo-abi.h"
#include "host/driver/driver.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {
namespace {

UniqueFd make_kick(const Udata& udata) {
    const auto req = udata_in<dingo_alloc_ucontext_req>(udata);
    if (req.comp_mask != 0 || (req.kick_modes >> DINGO_KICK_FD & 1) == 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    UniqueFd kick(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!kick) {
        throw ErrnoError(ENOMEM);
    }
    need_room(kick.get());
    return kick;
}

}  // namespace

Context::Context(Driver& driver, Udata& udata, const std::shared_ptr<Account>& account,
                 const ShareOwner& owner)
    : driver_(driver),
      far_watch_(driver.watch_far()),
      share_(driver.share_of(owner)),
      kick_charge_(account, process_quotas().descriptors),
      kick_(driver.card(), make_kick(udata)),
      doorbells_(driver.doorbell_pages(), kick_, {account, 0, this}),
      watched_doorbells_(driver.doorbell_pages(), kick_, {account, 0, this}),
      queues_({account, 0, this}),
      next_offset_(kPageBytes) {
    status_offset_ = publish(driver.status_page().fd(), kPageBytes);
    describe(udata);
}

std::uint64_t Context::publish(int fd, std::uint64_t length, std::uint64_t file_offset) {
    const std::uint64_t offset = next_offset_;
    next_offset_ += page_align(length);
    mappings_[offset] = {fd, length, file_offset};
    return offset;
}

void Context::describe(Udata& udata) const {
    UniqueFd copy(::fcntl(kick_.fd(), F_DUPFD_CLOEXEC, 0));
    if (!copy) {
        throw ErrnoError(ENOMEM);
    }
    const dingo_limits& limits = driver_.capabilities().limits();
    dingo_alloc_ucontext_resp resp{};
    resp.comp_mask = DINGO_UCONTEXT_STATUS | DINGO_UCONTEXT_CLOCK;
    if (driver_.config().device_memory != 0) {
        resp.comp_mask |= DINGO_UCONTEXT_DM;
    }
    resp.kick_mode = DINGO_KICK_FD;
    resp.caps = driver_.capabilities().bits();
    resp.max_inline = limits.max_inline;
    resp.log_max_sq = limits.log_max_sq;
    resp.log_max_rq = limits.log_max_rq;
    resp.log_max_cq = limits.log_max_cq;
    resp.kick_fd = -1;
    resp.status_mmap = status_offset_;
    udata_out(udata, resp);
    udata.fds.push_back({offsetof(dingo_alloc_ucontext_resp, kick_fd), std::move(copy)});
}

Context::Mapping Context::mmap(std::uint64_t offset, std::uint64_t length) {
    const auto entry = mappings_.find(offset);
    if (entry == mappings_.end() || entry->second.length != length) {
        throw ErrnoError(EINVAL);
    }
    UniqueFd fd(::fcntl(entry->second.fd, F_DUPFD_CLOEXEC, 0));
    if (!fd) {
        throw ErrnoError(ENOMEM);
    }
    return {std::move(fd), entry->second.file_offset};
}

}  // namespace dingo::uverbs
