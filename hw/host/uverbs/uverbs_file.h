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

/// One open uverbs descriptor: what ib_uverbs' file is. Whatever was made through it lives until
/// its last copy is closed; then closed() is true and the owner destroys it, and all goes.
class UverbsFile final : public Pollable {
  public:
    /// The client that connected.
    struct Client {
        std::uint32_t id = 0;  ///< greater than those of all who came before
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

    /// Serves some requests that are here.
    void ready(std::uint32_t events) override;
    /// Requests that wait for a neighbour's address, or for what a QP has to send.
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
    [[nodiscard]] bool closed() const { return closed_; }
    /// Lets go of answers that the client has read. True: some are left.
    bool sweep();

    /// Tells the client that the device is gone for it, and serves it no more: closed() is true.
    void end();

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
    /// Null: its client does not use the direct road.
    [[nodiscard]] DirectContext* direct() const { return direct_.get(); }
    /// ErrnoError: EOPNOTSUPP the card has none; EINVAL there is no context yet.
    DirectContext& start_direct();

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

    [[nodiscard]] const ShareOwner& owner() const { return client_.owner; }
    [[nodiscard]] const std::shared_ptr<Account>& account() const { return client_.account; }
    [[nodiscard]] std::uint32_t id() const { return client_.id; }
    [[nodiscard]] pid_t pid() const { return client_.pid; }
    [[nodiscard]] std::string command_name() const;

    /// A line in the log about memory of a GPU that the client cannot register.
    void warn_of_gpu(std::string_view why);

  private:
    /// A request that is served again when the address that it needs is known, or what its QP had
    /// to send has left.
    struct Waiting final : Waiter {
        Waiting(UverbsFile& f, Message m, Charge c)
            : file(f), message(std::move(m)), descriptors(std::move(c)) {}
        void settled(int error) override { file.serve_again(*this, error); }
        UverbsFile& file;
        Message message;
        Charge descriptors;  ///< for the descriptors that the message brought
        std::list<Waiting>::iterator self;
    };

    /// A request that is served again when memory of a GPU is open.
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
    /// Serves it again when the address is known. ErrnoError: ENOMEM, EMFILE too much waits.
    void keep(Message& message, const NotYet& not_yet);
    /// Serves it again when that is sent. False: it does not wait.
    bool keep(Message& message, const NotSent& not_sent);
    Waiting& make_waiting(Message& message);
    void open_gpu(Message& message, std::uint64_t end);
    void serve_opened(OpeningGpu& opening);
    /// Before a request is kept, and so many descriptors besides those that it brought. ErrnoError
    /// as keep().
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
    Nanoseconds patient_from_ = 0;  ///< it waits for no sends before
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
    std::vector<DirectLink> linked_;  ///< pages of other clients that it has got
};

}  // namespace dingo::uverbs
