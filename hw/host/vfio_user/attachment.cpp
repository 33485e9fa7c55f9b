// SPDX-License-Identifier: BSD-2-Clause
#include "attachment.h"

#include <sys/epoll.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/errno_error.h"

namespace dingo::vfio_user {

VfioUserAttachment::VfioUserAttachment(std::string path, Server& server)
    : listener_(std::move(path)), server_(server), client_(server) {
    server_.on_closing = [this] { unwatch_client(); };
}

VfioUserAttachment::~VfioUserAttachment() {
    server_.on_closing = nullptr;
}

void VfioUserAttachment::watch(PollGroup& polls) {
    listener_id_ = polls.add(listener_.fd(), EPOLLIN, *this);
    polls_ = &polls;
    watch_client();
}

void VfioUserAttachment::unwatch() {
    if (polls_ != nullptr) {
        unwatch_client();
        polls_->remove(listener_id_);
        polls_ = nullptr;
    }
}

void VfioUserAttachment::watch_client() {
    if (polls_ != nullptr && server_.connected()) {
        client_.events = EPOLLIN;
        client_.id = polls_->add(server_.fd(), client_.events, client_);
    }
}

void VfioUserAttachment::unwatch_client() {
    if (client_.id != 0) {
        polls_->remove(std::exchange(client_.id, 0));
    }
}

void VfioUserAttachment::Client::ready(std::uint32_t /*events*/) {
    server.service();
}

bool VfioUserAttachment::settle(Nanoseconds /*now*/) {
    server_.settle();
    const std::uint32_t events = EPOLLIN | (server_.wants_write() ? std::uint32_t{EPOLLOUT} : 0U);
    if (client_.id != 0 && client_.events != events) {
        client_.events = events;
        polls_->change(client_.id, events);
    }
    return false;
}

void VfioUserAttachment::ready(std::uint32_t /*events*/) {
    UniqueFd socket = listener_.accept();
    if (!socket) {
        return;
    }
    if (server_.connected()) {
        server_.service();  // the old client's disconnection may not have been noticed yet
    }
    if (server_.connected()) {
        log_limit_.warn("vfio-user: a second client was turned away: the card is in use");
        return;
    }
    server_.attach(std::move(socket));
    try {
        watch_client();
    } catch (const ErrnoError& error) {
        server_.detach(std::strerror(error.code()));
    }
}

void VfioUserAttachment::add_stats(nlohmann::json& all) const {
    for_each_counter(server_.stats(),
                     [&](const char* name, std::uint64_t v) { all["host"][name] = v; });
    all["host"]["connected"] = server_.connected();
    all["host"]["dma_windows"] = server_.dma().size();
    all["host"]["dma_mapped_bytes"] = server_.dma().mapped_bytes();
    all["host"]["interrupts"] = server_.interrupts();
}

void VfioUserAttachment::stop() {
    server_.detach("the card is switched off");
}

}  // namespace dingo::vfio_user
