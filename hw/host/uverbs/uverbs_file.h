// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/foreign_fd.h"
#include "base/log.h"
#include "base/poller.h"
#include "host/driver/context.h"
#include "host/uverbs/call.h"
#include "host/uverbs/client_processes.h"
#include "host/uverbs/device.h"
#include "host/uverbs/events.h"
#include "host/uverbs/gpu_opening.h"
#include "host/uverbs/message.h"
#include "host/uverbs/objects.h"
#include "host/uverbs/unread.h"

namespace dingo::uverbs {

/// One open uverbs descriptor, like a file of ib_uverbs. All objects created through it live until
/// its last copy is closed; then closed() returns true and the owner destroys this object.
class UverbsFile final : public Pollable {
  public:
    /// The client that connected.
    struct Client {
        std::uint32_t id = 0;  ///< greater than the id of any earlier client
        pid_t pid = 0;
        ShareOwner owner;
        std::shared_ptr<Account> account;
        Sender sender;
        ConnectionCharge connection;
    };
    UverbsFile(Device& device, Client client, ClientSocket socket);
    ~UverbsFile() override;
    UverbsFile(const UverbsFile&) = delete;
    UverbsFile& operator=(const UverbsFile&) = delete;

    /// Serves some of the queued requests.
    void ready(std::uint32_t events) override;
    /// Number of requests that wait for a neighbour's address or for the last sends of a QP.
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
    [[nodiscard]] bool closed() const { return closed_; }
    /// Releases answers that the client has read. Returns true if some are left.
    bool sweep();

    /// Tells the client that the device is gone for it and stops serving it: closed() is true.
    void end();

    /// Sends a port or device event to every async descriptor.
    void post_to_all(int event, std::uint64_t element);

    [[nodiscard]] Device& device() const { return device_; }
    [[nodiscard]] Driver& driver() const { return device_.driver; }
    [[nodiscard]] ObjectTable& objects() { return objects_; }
    [[nodiscard]] const ObjectTable& objects() const { return objects_; }
    [[nodiscard]] bool has_context() const { return context_ != nullptr; }
    /// Throws ErrnoError(EINVAL) if there is none yet.
    [[nodiscard]] Context& context() const;
    void set_context(std::unique_ptr<Context> context);
    /// Null if the client does not use the direct road.
    [[nodiscard]] DirectContext* direct() const { return direct_.get(); }
    /// Throws ErrnoError: EOPNOTSUPP if the card has no direct road, EINVAL if there is no context
    /// yet.
    DirectContext& start_direct();

    /// Creates a channel. add_channel() follows when the client is certain to get its end.
    std::shared_ptr<EventChannel> make_channel(EventChannel::Kind kind);
    void add_channel(std::shared_ptr<EventChannel> channel);
    /// Sets the default async channel if there is none yet.
    void set_default_async(std::shared_ptr<EventChannel> channel, HeldChannel hold);
    /// Returns the channel of whose client end `fd` is a copy. Throws ErrnoError(EBADF).
    [[nodiscard]] HeldChannel channel(EventChannel::Kind kind, int fd) const;
    /// The channel for events without a specified one: the first async descriptor. May be empty.
    [[nodiscard]] HeldChannel default_async() const;
    [[nodiscard]] std::size_t channels() const { return channels_.size(); }

    [[nodiscard]] const ShareOwner& owner() const { return client_.owner; }
    [[nodiscard]] const std::shared_ptr<Account>& account() const { return client_.account; }
    [[nodiscard]] std::uint32_t id() const { return client_.id; }
    [[nodiscard]] pid_t pid() const { return client_.pid; }
    [[nodiscard]] std::string command_name() const;

    /// Logs why the client cannot register GPU memory.
    void warn_of_gpu(std::string_view why);

  private:
    /// A request that is served again when the address that it needs is known, or when the last
    /// sends of its QP have left.
    struct Waiting final : Waiter {
        Waiting(UverbsFile& f, Message m, Charge c)
            : file(f), message(std::move(m)), descriptors(std::move(c)) {}
        void settled(int error) override { file.serve_again(*this, error); }
        UverbsFile& file;
        Message message;
        Charge descriptors;  ///< charge for the message's descriptors
        std::list<Waiting>::iterator self;
    };

    /// A request that is served again when GPU memory has been opened.
    struct OpeningGpu final : Pollable {
        OpeningGpu(UverbsFile& f, Message m, std::shared_ptr<GpuOpening> o);
        ~OpeningGpu() override { file.device_.poller.remove(poll_id); }
        OpeningGpu(const OpeningGpu&) = delete;
        OpeningGpu& operator=(const OpeningGpu&) = delete;
        void ready(std::uint32_t /*events*/) override { file.serve_opened(*this); }
        UverbsFile& file;
        Message message;
        std::shared_ptr<GpuOpening> opening;
        Poller::Id poll_id;
        std::list<OpeningGpu>::iterator self;
    };

    void fail();
    void serve(Message message);
    void serve_again(Waiting& waiting, int error);
    /// Keeps the request until the address is known. Throws ErrnoError: ENOMEM or EMFILE if too
    /// many requests wait.
    void keep(Message& message, const NotYet& not_yet);
    /// Keeps the request until the last sends have left. Returns false if the request must not
    /// wait.
    bool keep(Message& message, const NotSent& not_sent);
    Waiting& make_waiting(Message& message);
    void open_gpu(Message& message, std::uint64_t end);
    void serve_opened(OpeningGpu& opening);
    /// Charges a request that is about to be kept: its own descriptors and `kept` further ones.
    /// Throws ErrnoError as keep().
    [[nodiscard]] Charge charge_of(const Message& message, std::size_t kept) const;
    void answer(Message& message, const Reply& reply);
    void refuse(const Message& message, int error);
    void send(const Message& message, const Reply& reply);
    void execute(const Message& message, Reply& reply);
    void hello(const Message& message, Reply& reply);
    void mmap(const Message& message, Reply& reply);
    void sysfs(const Message& message, Reply& reply) const;
    void netlink(const Message& message, Reply& reply) const;
    void direct_link(const Message& message, Reply& reply);
    void direct_unlink(const Message& message);
    void direct_file(const Message& message, Reply& reply) const;
    void keep(Message& message, const NotQuiet& not_quiet);
    void keep(Message& message, const NotBack& not_back);

    Device& device_;
    Client client_;
    ClientSocket socket_;
    Poller::Id poll_id_ = 0;
    bool closed_ = false;
    ClientProcesses processes_;
    UnreadAnswers unread_;
    std::list<Waiting> waiting_;
    Nanoseconds patient_from_ = 0;  ///< before this time requests do not wait for sends
    std::list<OpeningGpu> opening_;
    std::shared_ptr<GpuLanes> gpu_lanes_ = std::make_shared<GpuLanes>();
    log::Limit gpu_log_;

    std::vector<std::shared_ptr<EventChannel>> channels_;
    std::shared_ptr<EventChannel> default_async_;
    std::unique_ptr<HeldChannel> default_hold_;
    std::unique_ptr<Context> context_;
    std::unique_ptr<DirectContext> direct_;
    ObjectTable objects_;
    struct DirectLink {
        std::uint32_t generation;
        std::shared_ptr<DirectMemory> page;
    };
    std::vector<DirectLink> linked_;  ///< pages of other clients that this client has linked
};

}  // namespace dingo::uverbs
