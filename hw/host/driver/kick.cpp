// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/kick.h"

#include <sys/uio.h>

#include <utility>

namespace dingo::uverbs {

Kick::Kick(LocalCard& card, UniqueFd fd) : card_(card), fd_(std::move(fd)) {
    id_ = card_.watch_kick(fd_.get(), *this);
}

Kick::~Kick() {
    card_.unwatch_kick(id_);
}

void Kick::add_page(std::uint32_t page) {
    card_.gate()->run([&] { pages_.push_back(page); });
}

// RWF_NOWAIT: the client may drain or fill its copy, or make it blocking.
void Kick::kicked() {
    std::uint64_t count = 0;
    const iovec to{&count, sizeof count};
    const Gate::Hold hold(*card_.gate());
    [[maybe_unused]] const ssize_t n = ::preadv2(fd_.get(), &to, 1, -1, RWF_NOWAIT);
    for (const std::uint32_t page : pages_) {
        card_.doorbell_page_kicked(page);
    }
}

}  // namespace dingo::uverbs
