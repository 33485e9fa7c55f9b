// SPDX-License-Identifier: BSD-2-Clause
// The control socket of a running card: one JSON object per line in each direction.
//   {"cmd":"stats"}  {"cmd":"faults","spec":"drop=1%"}  {"cmd":"link","up":false}
// Replies are {"ok":true,...} or {"ok":false,"error":"..."}.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/poller.h"
#include "base/unix_socket.h"

namespace dingo {

/// Member of a handler's answer that is not sent: the request that undoes the change if the client
/// has disconnected.
inline constexpr const char* kUndo = "undo";

class ControlServer final : private Pollable {
  public:
    /// Answers one request. An exception's what() becomes the error reply.
    using Handler = std::function<nlohmann::json(const nlohmann::json& request)>;

    /// Throws as UnixListener does.
    ControlServer(std::string path, Handler handler);

    /// Adds its sockets to `polls` until unwatch(). Throws ErrnoError.
    void watch(PollGroup& polls);
    /// Closes all connections.
    void unwatch();

  private:
    struct Client final : Pollable {
        Client(ControlServer& s, UniqueFd f) : server(s), fd(std::move(f)) {}
        void ready(std::uint32_t events) override;
        ControlServer& server;
        UniqueFd fd;
        Poller::Id id = 0;
        std::string input;
    };

    void ready(std::uint32_t events) override;
    void drop_done();
    bool serve(Client& client);
    [[nodiscard]] std::string reply_to(const std::string& line, nlohmann::json& undo) const;

    UnixListener listener_;
    log::Limit log_limit_;
    Handler handler_;
    PollGroup* polls_ = nullptr;
    Poller::Id listener_id_ = 0;
    std::list<Client> clients_;
};

/// `dingo-card ctl SOCKET REQUEST...`: sends one request and prints the reply. Returns the exit
/// status: 0; 1 if the card refused; 2 if the card could not be asked.
int run_control_client(const std::string& path, const std::vector<std::string>& words);

}  // namespace dingo
