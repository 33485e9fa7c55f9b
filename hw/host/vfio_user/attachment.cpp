// SPDX-License-Identifier: BSD-2-Clause
#include "attachment.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"

namespace dingo::vfio_user {

Attachment::Attachment(std::string path, Server& server)
    : listener_(std::move(path)), server_(server) {}

void Attachment::add_polls(std::vector<pollfd>& polls) const {
    polls.push_back({listener_.fd(), POLLIN, 0});
    const short client_events = static_cast<short>(POLLIN | (server_.wants_write() ? POLLOUT : 0));
    polls.push_back({server_.fd(), client_events, 0});  // -1 is ignored by poll
}

void Attachment::service(std::span<const pollfd> polls) {
    if (polls[1].revents != 0) {
        server_.service();
    }
    if (polls[0].revents != 0) {
        accept_client();
    }
}

bool Attachment::settle(Nanoseconds /*now*/) {
    server_.settle();
    return false;
}

void Attachment::accept_client() {
    UniqueFd socket = listener_.accept();
    if (!socket) {
        return;
    }
    if (server_.connected()) {
        server_.service();  // the old client may have died without our having noticed
    }
    if (server_.connected()) {
        log::warn("vfio-user: a second client was turned away: the card is in use");
        return;
    }
    server_.attach(std::move(socket));
}

void Attachment::add_stats(nlohmann::json& all) const {
    for_each_counter(server_.stats(),
                     [&](const char* name, std::uint64_t v) { all["host"][name] = v; });
    all["host"]["connected"] = server_.connected();
    all["host"]["dma_windows"] = server_.dma().size();
    all["host"]["dma_mapped_bytes"] = server_.dma().mapped_bytes();
    all["host"]["interrupts"] = server_.interrupts();
}

void Attachment::stop() {
    server_.detach("the card is switched off");
}

}  // namespace dingo::vfio_user
