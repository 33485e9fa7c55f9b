// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "base/log.h"
#include "base/unix_socket.h"
#include "host/attachment.h"
#include "server.h"

namespace dingo::vfio_user {

/// The socket to which QEMU connects; serves one client at a time.
class VfioUserAttachment final : public HostAttachment, private Pollable {
  public:
    /// Throws as UnixListener does. `server` must outlive the attachment.
    VfioUserAttachment(std::string path, Server& server);
    ~VfioUserAttachment() override;
    VfioUserAttachment(const VfioUserAttachment&) = delete;
    VfioUserAttachment& operator=(const VfioUserAttachment&) = delete;

    void watch(PollGroup& polls) override;
    void unwatch() override;
    bool settle(Nanoseconds now) override;
    void add_stats(nlohmann::json& all) const override;
    void stop() override;

  private:
    struct Client final : Pollable {
        explicit Client(Server& s) : server(s) {}
        void ready(std::uint32_t events) override;
        Server& server;
        Poller::Id id = 0;  ///< 0: not watched
        std::uint32_t events = 0;
    };

    void ready(std::uint32_t events) override;
    void watch_client();
    void unwatch_client();

    UnixListener listener_;
    log::Limit log_limit_;
    Server& server_;
    PollGroup* polls_ = nullptr;
    Poller::Id listener_id_ = 0;
    Client client_;
};

}  // namespace dingo::vfio_user
