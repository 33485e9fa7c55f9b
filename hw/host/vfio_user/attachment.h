// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "base/unix_socket.h"
#include "host/attachment.h"
#include "server.h"

namespace dingo::vfio_user {

/// The socket that QEMU connects to: one client at a time.
class Attachment final : public HostAttachment {
  public:
    /// Throws as UnixListener does. `server` outlives it.
    Attachment(std::string path, Server& server);

    void add_polls(std::vector<pollfd>& polls) const override;
    void service(std::span<const pollfd> polls) override;
    bool settle(Nanoseconds now) override;
    void add_stats(nlohmann::json& all) const override;
    void stop() override;

  private:
    void accept_client();

    UnixListener listener_;
    Server& server_;
};

}  // namespace dingo::vfio_user
