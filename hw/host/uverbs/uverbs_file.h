// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/foreign_fd.h"
#include "base/poller.h"
#include "host/driver/context.h"
#include "host/uverbs/call.h"
#include "host/uverbs/client_processes.h"
#include "host/uverbs/device.h"
#include "host/uverbs/events.h"
#include "host/uverbs/message.h"
#include "host/uverbs/objects.h"

namespace dingo::uverbs {

/// One open uverbs descriptor: what ib_uverbs' file is. Whatever was made through it lives until
/// its last copy is closed; then closed() is true and the owner destroys it, and all goes.
class UverbsFile final : public Pollable {
  public:
    /// `id`: greater than those of all who came before; `pid`: of who connected.
    UverbsFile(Device& device, std::uint32_t id, ForeignSocket socket, pid_t pid);
    ~UverbsFile() override;
    UverbsFile(const UverbsFile&) = delete;
    UverbsFile& operator=(const UverbsFile&) = delete;

    /// Serves some requests that are here.
    void ready(std::uint32_t events) override;
    /// Tries requests again that had to wait. True: one is done.
    bool retry();
    [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }
    [[nodiscard]] bool closed() const { return closed_; }

    /// Port and device events: to every async descriptor.
    void post_to_all(int event, std::uint64_t element);

    [[nodiscard]] Device& device() const { return device_; }
    [[nodiscard]] Driver& driver() const { return device_.driver; }
    [[nodiscard]] ObjectTable& objects() { return objects_; }
    [[nodiscard]] const ObjectTable& objects() const { return objects_; }
    [[nodiscard]] bool has_context() const { return context_ != nullptr; }
    /// ErrnoError(EINVAL) when there is none yet.
    [[nodiscard]] Context& context() const;
    void set_context(std::unique_ptr<Context> context);

    /// Makes a channel; add_channel() once the client is sure to get its end.
    std::shared_ptr<EventChannel> make_channel(EventChannel::Kind kind);
    void add_channel(std::shared_ptr<EventChannel> channel);
    /// When there is none yet.
    void set_default_async(std::shared_ptr<EventChannel> channel, HeldChannel hold);
    /// That of which the client has a copy `fd`. ErrnoError(EBADF).
    [[nodiscard]] HeldChannel channel(EventChannel::Kind kind, int fd) const;
    /// The channel of events without a named one: the first async descriptor. May be none.
    [[nodiscard]] HeldChannel default_async() const;
    [[nodiscard]] std::size_t channels() const { return channels_.size(); }

    [[nodiscard]] std::uint32_t id() const { return id_; }
    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] std::string command_name() const;

  private:
    struct Kick final : Pollable {
        explicit Kick(UverbsFile& c) : file(c) {}
        void ready(std::uint32_t events) override;
        UverbsFile& file;
    };

    void fail();
    /// False: it has to wait.
    bool serve(const Message& message);
    void execute(const Message& message, Reply& reply);
    void hello(const Message& message, Reply& reply);
    void mmap(const Message& message, Reply& reply);
    void sysfs(const Message& message, Reply& reply) const;
    void netlink(const Message& message, Reply& reply) const;

    Device& device_;
    std::uint32_t id_;
    ForeignSocket socket_;
    pid_t pid_;
    Poller::Id poll_id_ = 0;
    bool closed_ = false;
    ClientProcesses processes_;
    std::vector<Message> waiting_;

    std::vector<std::shared_ptr<EventChannel>> channels_;
    std::shared_ptr<EventChannel> default_async_;
    std::unique_ptr<HeldChannel> default_hold_;
    Kick kick_{*this};
    Poller::Id kick_id_ = 0;
    std::unique_ptr<Context> context_;
    ObjectTable objects_;
};

}  // namespace dingo::uverbs
