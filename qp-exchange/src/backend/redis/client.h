// SPDX-License-Identifier: BSD-2-Clause
// Commands to a Redis server, with deadlines.
#pragma once
#include <hiredis.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/stream.h"
#include "qpx/url.h"

namespace qpx::backend {

struct ReplyFree {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, ReplyFree>;

inline std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> bytes_of(const redisReply& reply) {
    return std::as_bytes(std::span(reply.str, reply.len));
}

class RedisClient {
  public:
    /// Connects and authenticates. @throws Error Resolve, Refused, Auth, Timeout
    RedisClient(const Url& url, net::Deadline deadline);

    /// One command. @param timeout beyond which the connection is given up; a command that waits in
    /// the server (BLPOP) is given more than it waits. @throws Error Refused with the server's
    /// words, PeerGone, Timeout
    Reply command(const std::vector<std::string_view>& words, std::chrono::milliseconds timeout);

    /// Many commands at once, answers thrown away but for errors.
    void commands(const std::vector<std::vector<std::string_view>>& all,
                  std::chrono::milliseconds timeout);

    int fd() const { return context_->fd; }

  private:
    struct ContextFree {
        void operator()(redisContext* context) const { redisFree(context); }
    };
    void set_timeout(std::chrono::milliseconds timeout);
    void append(const std::vector<std::string_view>& words);
    Reply reply(const std::string& command);
    [[noreturn]] void broken(const std::string& command);

    std::string who_;
    std::unique_ptr<redisContext, ContextFree> context_;
};

}  // namespace qpx::backend
