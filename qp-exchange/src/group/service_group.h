// SPDX-License-Identifier: BSD-2-Clause
// A group at a qpxd, or at rank 0, which runs the same service in a thread.
#pragma once
#include <memory>
#include <string>
#include <thread>

#include "group/channel.h"
#include "qpx/group.h"

namespace qpx::service {

class Server;

/// Joins a group at qpxd:// or tcp://. @throws as Group::join
std::unique_ptr<Group> join_service(const Url& url, const GroupOptions& options);

/// The service, run in a thread of this process.
class HostedService {
  public:
    HostedService(const Url& url, const GroupOptions& options);
    ~HostedService();
    HostedService(const HostedService&) = delete;
    HostedService& operator=(const HostedService&) = delete;

    uint16_t port() const;

  private:
    std::unique_ptr<Server> server_;
    std::thread thread_;
};

class ServiceGroup final : public Group {
  public:
    ServiceGroup(Url url, const GroupOptions& options, std::unique_ptr<HostedService> hosted);
    ~ServiceGroup() override;

    using Group::all_gather;
    using Group::put;

    uint32_t rank() const override { return rank_; }
    uint32_t size() const override { return size_; }
    std::string url() const override { return to_string(url_); }
    Milliseconds timeout() const override { return timeout_; }
    void put(std::string_view key, std::span<const std::byte> value) override;
    bool put_once(std::string_view key, std::span<const std::byte> value) override;
    std::vector<std::byte> get(std::string_view key, Milliseconds timeout) override;
    std::optional<std::vector<std::byte>> try_get(std::string_view key) override;
    void wait(std::span<const std::string> keys, Milliseconds timeout) override;
    int64_t add(std::string_view key, int64_t delta) override;
    bool erase(std::string_view key) override;
    void barrier(Milliseconds timeout) override;
    std::vector<RankBytes> all_gather(std::span<const std::byte> mine,
                                      Milliseconds timeout) override;
    Exchanged exchange_bytes(std::span<const RankBytes> mine, Milliseconds timeout) override;
    std::vector<GroupMember> members() override;
    std::optional<GroupEvent> poll_event() override;
    int fd() const override { return channel_.fd(); }
    bool cancel() noexcept override {
        channel_.cancel();
        return true;
    }
    void leave() override;
    bool secure() const override { return channel_.stream().secure(); }
    std::string security_text() const override { return channel_.stream().security_text(); }

  private:
    Milliseconds time(Milliseconds timeout) const {
        return timeout == default_timeout ? timeout_ : timeout;
    }
    void pause(Milliseconds time) override { channel_.pause(time); }
    void wait_for_others();

    Url url_;
    Milliseconds timeout_;
    std::unique_ptr<HostedService> hosted_;  ///< destroyed after the channel
    mutable Channel channel_;
    uint32_t rank_ = 0, size_ = 0;
    bool left_ = false;
};

}  // namespace qpx::service
