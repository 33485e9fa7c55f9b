// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/uverbs_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <span>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/elsewhere.h"
#include "base/exported_memory.h"
#include "host/uverbs/ioctl.h"
#include "host/uverbs/write.h"

namespace dingo::uverbs {
namespace {

// Requests of one client per round of the loop, so that other clients do not wait long.
constexpr unsigned kRequestBudget = 8;
constexpr std::size_t kMaxWaitingRequests = 256;
/// If this many requests wait, no further one waits for sends, as others have QPs, too.
constexpr std::size_t kMaxWaitingSends = 16;
/// After a wait for sends that did not leave, the client's requests do not wait for this long: it
/// may have thousands of connections to a dead host and close them one after the other.
constexpr Nanoseconds kImpatient = 1'000'000'000;
constexpr std::size_t kMaxChannels = 4096;
/// Larger answers are charged until they are read, as those with descriptors.
constexpr std::size_t kSmallAnswer = 4096;
/// Maximum number of other clients' QPs that a connection may use by the direct road.
constexpr std::size_t kMaxLinks = 16'384;

UniqueFd copy_of(int fd) {
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy) {
        throw ErrnoError(ENOMEM);
    }
    return copy;
}

UniqueFd file_with(std::span<const std::byte> bytes) {
    UniqueFd fd(::memfd_create("dingo-answer", MFD_CLOEXEC));
    if (!fd) {
        throw ErrnoError(errno);
    }
    if (::pwrite(fd.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        throw ErrnoError(ENOMEM);
    }
    return fd;
}

UniqueFd for_reading(int fd) {
    UniqueFd file = open_for_reading(fd);
    if (!file) {
        throw ErrnoError(ENOMEM);
    }
    return file;
}

}  // namespace

UverbsFile::UverbsFile(Device& device, Client client, ClientSocket socket)
    : device_(device),
      client_(std::move(client)),
      socket_(std::move(socket)),
      unread_(client_.account),
      objects_(&device.accounts, client_.account) {
    poll_id_ = device_.poller.add(socket_.get(), EPOLLIN, *this);
}

UverbsFile::~UverbsFile() {
    const ClosesFor sender(client_.sender);
    for (const DirectLink& link : linked_) {
        link.page->cut(link.generation);
    }
    device_.poller.remove(poll_id_);
    objects_.clear();
    direct_.reset();
    context_.reset();
    waiting_.clear();
    opening_.clear();
    socket_.reset();
}

void UverbsFile::fail() {
    closed_ = true;
    device_.poller.remove(poll_id_);
}

void UverbsFile::end() {
    post_to_all(kDeviceFatal, 0);
    fail();
}

void UverbsFile::ready(std::uint32_t /*events*/) {
    const ClosesFor sender(client_.sender);
    for (unsigned i = 0; i < kRequestBudget && !device_.must_judge(); ++i) {
        if (has_too_many_closing(client_.sender)) {
            fail();
            return;
        }
        Message message;
        switch (receive_message(socket_.get(), message)) {
            case Received::kNothing:
                return;
            case Received::kEnd:
                fail();
                return;
            case Received::kMalformed:
                ++device_.stats.malformed;
                fail();
                return;
            case Received::kMessage:
                break;
        }
        ++device_.stats.requests;
        if (message.pid == 0) {
            message.pid = client_.pid;  // older kernels: sent between accept() and SO_PASSCRED
        }
        serve(std::move(message));
        if (closed_) {
            return;
        }
    }
}

void UverbsFile::serve_again(Waiting& waiting, int error) {
    const ClosesFor sender(client_.sender);
    Message message = std::move(waiting.message);
    waiting_.erase(waiting.self);
    if (message.ended_qpn) {
        if (error != 0) {
            patient_from_ = device_.driver.card().now() + kImpatient;
        }
        error = 0;
    }
    if (error != 0) {
        refuse(message, error);
    } else if (!closed_) {
        serve(std::move(message));
    }
}

void UverbsFile::serve(Message message) {
    Reply reply;
    reply.header.type = DINGO_UVERBS_DONE;
    try {
        execute(message, reply);
    } catch (const ErrnoError& e) {
        message.pause.reset();
        refuse(message, e.code());
        return;
    } catch (const std::bad_alloc&) {
        message.pause.reset();
        refuse(message, ENOMEM);
        return;
    } catch (const NotYet& not_yet) {
        try {
            keep(message, not_yet);
        } catch (const ErrnoError& e) {
            refuse(message, e.code());
        }
        return;
    } catch (const NotSent& not_sent) {
        message.ended_qpn = not_sent.qpn();
        if (!keep(message, not_sent)) {
            serve(std::move(message));
        }
        return;
    } catch (const NotQuiet& not_quiet) {
        try {
            keep(message, not_quiet);
        } catch (const ErrnoError& e) {
            refuse(message, e.code());
        }
        return;
    } catch (const NotBack& not_back) {
        try {
            keep(message, not_back);
        } catch (const ErrnoError& e) {
            refuse(message, e.code());
        }
        return;
    } catch (const NeedGpu& need) {
        try {
            open_gpu(message, need.end);
        } catch (const ErrnoError& e) {
            refuse(message, e.code());
        }
        return;
    } catch (const NeedSharing& need) {
        reply.header.type = DINGO_UVERBS_NEED_SHARING;
        reply.header.need_va = need.va;
        reply.header.need_length = need.length;
        reply.header.need_writable = need.writable ? 1 : 0;
    } catch (const NeedFds& need) {
        reply.header.type = DINGO_UVERBS_NEED_FDS;
        reply.header.num_need_fds = static_cast<std::uint32_t>(need.numbers.size());
        std::copy(need.numbers.begin(), need.numbers.end(), reply.header.need_fds);
        reply.header.need_va = need.gpu.va;
        reply.header.need_length = need.gpu.length;
        reply.header.need_offset = need.offset;
    }
    message.pause.reset();  // other objects' events must be delivered before the answer
    answer(message, reply);
}

// A waiting request keeps its descriptors and its reply socket for seconds, so none of them may
// come from the reserve.
Charge UverbsFile::charge_of(const Message& message, std::size_t kept) const {
    if (waiting_.size() + opening_.size() >= kMaxWaitingRequests ||
        !is_small_enough_to_wait(message)) {
        throw ErrnoError(ENOMEM);
    }
    need_room(message.reply.get());
    return {client_.account, process_quotas().descriptors, kept + message.fds.size()};
}

UverbsFile::Waiting& UverbsFile::make_waiting(Message& message) {
    Charge charge = charge_of(message, 1);
    waiting_.emplace_back(*this, std::move(message), std::move(charge));
    waiting_.back().self = std::prev(waiting_.end());
    return waiting_.back();
}

void UverbsFile::keep(Message& message, const NotYet& not_yet) {
    device_.driver.await(not_yet, make_waiting(message));
}

bool UverbsFile::keep(Message& message, const NotSent& not_sent) {
    if (waiting_.size() >= kMaxWaitingSends || device_.driver.card().now() < patient_from_) {
        return false;
    }
    try {
        device_.driver.await(not_sent, make_waiting(message));
    } catch (const ErrnoError&) {
        return false;
    }
    return true;
}

void UverbsFile::keep(Message& message, const NotQuiet& not_quiet) {
    message.fence = not_quiet.fence;
    device_.direct.await(not_quiet.fence, make_waiting(message));
}

void UverbsFile::keep(Message& message, const NotBack& not_back) {
    message.pause = not_back.pause;
    Waiting& waiting = make_waiting(message);
    waiting.message.pause->missing()->await_back(waiting);
}

UverbsFile::OpeningGpu::OpeningGpu(UverbsFile& f, Message m, std::shared_ptr<GpuOpening> o)
    : file(f),
      message(std::move(m)),
      opening(std::move(o)),
      poll_id(file.device_.poller.add(opening->event(), EPOLLIN, *this)) {}

void UverbsFile::open_gpu(Message& message, std::uint64_t end) {
    Charge charge = charge_of(message, 2);
    auto opening =
        GpuOpening::start(message, std::move(charge), client_.sender, end, gpu_lanes_, account());
    need_room(opening->event());
    opening_.emplace_back(*this, std::move(message), std::move(opening));
    opening_.back().self = std::prev(opening_.end());
}

void UverbsFile::serve_opened(OpeningGpu& opening) {
    const ClosesFor sender(client_.sender);
    Message message = std::move(opening.message);
    opening.opening->finish();
    message.opened = std::move(opening.opening);
    opening_.erase(opening.self);
    if (!closed_) {
        serve(std::move(message));
    }
}

void UverbsFile::warn_of_gpu(std::string_view why) {
    gpu_log_.warn("cannot use GPU memory that process {} ({}) registers: {}", client_.pid,
                  command_name(), why);
}

void UverbsFile::refuse(const Message& message, int error) {
    Reply reply;
    reply.header.type = DINGO_UVERBS_DONE;
    reply.header.result = -error;
    ++device_.stats.failed;
    send(message, reply);
}

void UverbsFile::answer(Message& message, const Reply& reply) {
    const bool large =
        reply.arguments != nullptr && reply.arguments->num_result_bytes() > kSmallAnswer;
    if (reply.fds.empty() && !large) {
        return send(message, reply);
    }
    Charge charge;
    try {
        charge = unread_.room_for(reply.fds.size());
    } catch (const ErrnoError& error) {
        device_.stats.unread += error.code() == ETOOMANYREFS ? 1 : 0;
        return refuse(message, error.code());
    }
    send(message, reply);
    unread_.keep(std::move(message.reply), std::move(charge));
    device_.sweep = std::min(device_.sweep, device_.driver.card().now() + kSweepEvery);
}

void UverbsFile::send(const Message& message, const Reply& reply) {
    if (!closed_ && !send_reply(message.reply.get(), reply)) {
        ++device_.stats.undelivered;
    }
}

bool UverbsFile::sweep() {
    const ClosesFor sender(client_.sender);
    return unread_.sweep();
}

void UverbsFile::execute(const Message& message, Reply& reply) {
    if (brings_unasked_descriptors(message)) {
        throw ErrnoError(EINVAL);
    }
    // Only reply sockets and what is released with the answer may use the reserve.
    if (std::ranges::any_of(message.fds, [](const auto& fd) { return in_reserve(fd.get()); })) {
        throw ErrnoError(EMFILE);
    }
    switch (message.header.type) {
        case DINGO_UVERBS_HELLO:
            hello(message, reply);
            return;
        case DINGO_UVERBS_SYSFS:
            sysfs(message, reply);
            return;
        case DINGO_UVERBS_NETLINK:
            netlink(message, reply);
            return;
        case DINGO_UVERBS_MMAP:
            mmap(message, reply);
            return;
        case DINGO_UVERBS_DIRECT_LINK:
            direct_link(message, reply);
            return;
        case DINGO_UVERBS_DIRECT_UNLINK:
            direct_unlink(message);
            return;
        case DINGO_UVERBS_DIRECT_FILE:
            direct_file(message, reply);
            return;
        case DINGO_UVERBS_IOCTL:
        case DINGO_UVERBS_WRITE:
            break;
        default:
            ++device_.stats.malformed;
            fail();
            return;
    }
    message.arguments->forget_results();
    Call call(*this, message, processes_.memory_of(message));
    reply.header.result =
        message.header.type == DINGO_UVERBS_IOCTL ? execute_ioctl(call) : execute_write(call);
    call.commit(reply);
}

void UverbsFile::hello(const Message& message, Reply& reply) {
    if (!ClientProcesses::is_hello(message)) {
        ++device_.stats.malformed;
        fail();
        return;
    }
    processes_.admit(message, client_.account);
    reply.header.card_pid = static_cast<std::uint32_t>(::getpid());
    reply.header.rdev = kUverbsMajor << 20 | (kFirstMinor + device_.number);
}

void UverbsFile::mmap(const Message& message, Reply& reply) {
    Context::Mapping mapping = context().mmap(message.header.arg, message.header.arg2);
    reply.header.map_offset = mapping.offset;
    reply.fds.push_back(std::move(mapping.fd));
}

void UverbsFile::sysfs(const Message& message, Reply& reply) const {
    const std::string path(reinterpret_cast<const char*>(message.payload.data()),
                           message.payload.size());
    const auto text = device_.sysfs ? device_.sysfs(path) : std::nullopt;
    if (!text) {
        throw ErrnoError(ENOENT);
    }
    reply.fds.push_back(file_with(std::as_bytes(std::span(*text))));
}

void UverbsFile::netlink(const Message& message, Reply& reply) const {
    if (!device_.netlink) {
        throw ErrnoError(EOPNOTSUPP);
    }
    const NetlinkPiece piece = device_.netlink(message.payload, message.header.arg);
    reply.fds.push_back(file_with(piece.message));
    reply.header.next = piece.next;
}

void UverbsFile::direct_link(const Message& message, Reply& reply) {
    dingo_direct_claim claim;
    if (message.payload.size() != sizeof claim) {
        throw ErrnoError(EINVAL);
    }
    std::memcpy(&claim, message.payload.data(), sizeof claim);
    const DirectPage& page = device_.direct.find(claim, client_.sender.user);
    if (linked_.size() >= kMaxLinks) {
        throw ErrnoError(ENOMEM);
    }
    if (page.memory()->is_linked()) {  // the previous peer has not released it yet
        throw ErrnoError(EAGAIN);
    }
    const QueueSlabs::Piece& piece = page.memory()->piece();
    reply.fds.push_back(copy_of(piece.fd()));
    reply.fds.push_back(for_reading(page.context().directory_fd()));
    reply.fds.push_back(for_reading(device_.driver.status_page().fd()));
    reply.fds.push_back(for_reading(page.rq_fd()));
    reply.header.map_offset = piece.offset();
    reply.header.need_va = page.context().number();
    reply.header.need_length = page.generation();
    linked_.push_back({page.generation(), page.memory()});
    page.memory()->linked();
}

void UverbsFile::direct_unlink(const Message& message) {
    const auto found = std::ranges::find(linked_, message.header.arg, &DirectLink::generation);
    if (found == linked_.end()) {
        throw ErrnoError(ENOENT);
    }
    found->page->unlinked();
    std::swap(*found, linked_.back());
    linked_.pop_back();
}

void UverbsFile::direct_file(const Message& message, Reply& reply) const {
    const DirectContext& context = device_.direct.context(message.header.arg, client_.sender.user);
    if (message.header.arg2 > UINT32_MAX) {
        throw ErrnoError(ENOENT);
    }
    reply.fds.push_back(copy_of(context.file(static_cast<std::uint32_t>(message.header.arg2))));
}

DirectContext& UverbsFile::start_direct() {
    if (!device_.direct.available()) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (!direct_) {
        try {
            direct_ = std::make_unique<DirectContext>(device_.direct, context(),
                                                      client_.sender.user, client_.account);
        } catch (const std::system_error&) {
            throw ErrnoError(ENOMEM);
        }
    }
    return *direct_;
}

void UverbsFile::post_to_all(int event, std::uint64_t element) {
    for (const auto& channel : channels_) {
        if (channel->kind() == EventChannel::Kind::kAsync) {
            std::ignore = channel->post({element, static_cast<std::uint32_t>(event)});
        }
    }
}

Context& UverbsFile::context() const {
    if (!context_) {
        throw ErrnoError(EINVAL);
    }
    return *context_;
}

void UverbsFile::set_context(std::unique_ptr<Context> context) {
    context_ = std::move(context);
}

std::shared_ptr<EventChannel> UverbsFile::make_channel(EventChannel::Kind kind) {
    if (channels_.size() >= kMaxChannels) {
        throw ErrnoError(EMFILE);
    }
    return std::make_shared<EventChannel>(
        kind, device_.poller, device_.stats.events,
        [this](EventChannel& channel) {
            std::erase_if(channels_, [&](const auto& c) { return c.get() == &channel; });
        },
        client_.account);
}

void UverbsFile::add_channel(std::shared_ptr<EventChannel> channel) {
    channels_.push_back(std::move(channel));
}

void UverbsFile::set_default_async(std::shared_ptr<EventChannel> channel, HeldChannel hold) {
    default_hold_ = std::make_unique<HeldChannel>(std::move(hold));
    default_async_ = std::move(channel);
}

HeldChannel UverbsFile::channel(EventChannel::Kind kind, int fd) const {
    for (const auto& channel : channels_) {
        if (channel->kind() == kind && channel->is(fd)) {
            return {channel, fd};
        }
    }
    throw ErrnoError(EBADF);
}

HeldChannel UverbsFile::default_async() const {
    return {default_async_, -1};
}

std::string UverbsFile::command_name() const {
    std::string name;
    std::ifstream comm(fmt::format("/proc/{}/comm", client_.pid));
    std::getline(comm, name);
    return name;
}

}  // namespace dingo::uverbs
