// SPDX-License-Identifier: BSD-2-Clause
//
// The control socket of a running card: one JSON object a line in, one a line out.
//   {"cmd":"stats"}  {"cmd":"faults","spec":"drop=1%"}  {"cmd":"link","up":false}
// Replies are {"ok":true,...} or {"ok":false,"error":"..."}.
#pragma once

#include <poll.h>

#include <cstddef>
#include <functional>
#include <list>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/unix_socket.h"

namespace dingo {

class ControlServer {
  public:
    /// Answers one request. An exception's what() becomes the error reply.
    using Handler = std::function<nlohmann::json(const nlohmann::json& request)>;

    /// Throws as UnixListener does.
    ControlServer(std::string path, Handler handler);

    /// Appends what to poll.
    void add_polls(std::vector<pollfd>& polls) const;
    /// Serves whoever is ready; never blocks.
    void service(std::span<const pollfd> polls);

  private:
    struct Client {
        UniqueFd fd;
        std::string input;
    };

    bool serve(Client& client);
    [[nodiscard]] std::string reply_to(const std::string& line) const;

    UnixListener listener_;
    Handler handler_;
    std::list<Client> clients_;
};

/// The program's side of `dingo-card ctl SOCKET REQUEST...`: sends one request, prints the reply.
/// Returns the exit status: 0, 1 when the card refused, 2 when it could not be asked.
int run_control_client(const std::string& path, const std::vector<std::string>& words);

}  // namespace dingo
