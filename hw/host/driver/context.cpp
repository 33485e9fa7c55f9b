// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/eventfd.h>

#include <cerrno>

#include "host/driver/state.h"

namespace dingo::uverbs {

std::uint64_t Context::State::publish(const Entry& entry) {
    const std::uint64_t offset = next_offset;
    next_offset += page_align(entry.length);
    mappings[offset] = entry;
    return offset;
}

dingo_ring_map ClientQueue::map(const Doorbell& doorbell, unsigned log_size,
                                unsigned log_stride) const {
    DoorbellPage& page = doorbell.page();
    // The first queue of a page makes it mappable.
    if (page.mmap_offset == 0) {
        page.mmap_offset = context_.publish({page.fd(), DINGO_DB_PAGE_SIZE});
    }
    dingo_ring_map map{};
    map.ring_mmap = offset_;
    map.ring_bytes = memory_.bytes().size();
    map.db_mmap = page.mmap_offset;
    map.db_slot = doorbell.slot();
    map.log_size = static_cast<std::uint8_t>(log_size);
    map.log_stride = static_cast<std::uint8_t>(log_stride);
    return map;
}

Context::Context(Driver& driver, Udata& udata) {
    Driver::State& d = driver.state();
    const auto req = udata_in<dingo_alloc_ucontext_req>(udata);
    if (req.comp_mask != 0 || (req.kick_modes >> DINGO_KICK_FD & 1) == 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    state_ = std::make_unique<State>(d);
    state_->kick = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!state_->kick) {
        throw ErrnoError(ENOMEM);
    }
    state_->status_offset = state_->publish({d.status->fd(), kPageBytes});
    describe(udata);
}

void Context::describe(Udata& udata) const {
    const Driver::State& d = state_->driver;
    UniqueFd copy(::fcntl(state_->kick.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy) {
        throw ErrnoError(ENOMEM);
    }
    dingo_alloc_ucontext_resp resp{};
    resp.comp_mask = DINGO_UCONTEXT_STATUS | DINGO_UCONTEXT_CLOCK;
    if (d.config.device_memory != 0) {
        resp.comp_mask |= DINGO_UCONTEXT_DM;
    }
    resp.kick_mode = DINGO_KICK_FD;
    resp.caps = d.caps;
    resp.max_inline = d.limits.max_inline;
    resp.log_max_sq = d.limits.log_max_sq;
    resp.log_max_rq = d.limits.log_max_rq;
    resp.log_max_cq = d.limits.log_max_cq;
    resp.kick_fd = -1;
    resp.status_mmap = state_->status_offset;
    udata_out(udata, resp);
    udata.fds.push_back({offsetof(dingo_alloc_ucontext_resp, kick_fd), std::move(copy)});
}

Context::~Context() = default;

Context::Mapping Context::mmap(std::uint64_t offset, std::uint64_t length) {
    const auto entry = state_->mappings.find(offset);
    if (entry == state_->mappings.end() || entry->second.length != length) {
        throw ErrnoError(EINVAL);
    }
    UniqueFd fd(::fcntl(entry->second.fd, F_DUPFD_CLOEXEC, 0));
    if (!fd) {
        throw ErrnoError(ENOMEM);
    }
    return {std::move(fd), entry->second.file_offset};
}

int Context::kick_fd() const {
    return state_->kick.get();
}

}  // namespace dingo::uverbs
