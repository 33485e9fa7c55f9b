// SPDX-License-Identifier: BSD-2-Clause
#include "wire/shm_peer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace dingo {
namespace {

constexpr std::uint32_t kMagic = 0x44534d48;  // "DSMH"
constexpr std::uint32_t kVersion = 6;
constexpr std::uint64_t kWantsIcrc = 1;  // flags of a hello
constexpr std::uint64_t kReferences = 2;
constexpr ssize_t kVersionBytes = 2 * sizeof(std::uint32_t);  // of a hello: magic and version
constexpr std::size_t kMemoryBytes = 2 * kShmDirectionBytes;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
/// Cost of a message in kicks: a hello and memory have to be mapped.
constexpr unsigned kCostOfKick = 1;
constexpr unsigned kCostOfMemory = 8;

struct Control {
    // For SCM_MAX_FD of Linux: excess descriptors would be closed by the kernel in this thread,
    // which may block (foreign_fd.h).
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(253 * sizeof(int))> bytes;
};

UniqueFd make_memory() {
    UniqueFd fd(::memfd_create("dingo-shm-wire", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd && (::ftruncate(fd.get(), static_cast<off_t>(kMemoryBytes)) != 0 ||
               ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0))
        fd.reset();
    return fd;
}

/// Prevents all processes from removing pages of the ring, which would make readers fault, and from
/// mapping it writable again. Called when both sides have mapped it.
bool seal(int memory) {
    const int seals = ::fcntl(memory, F_GET_SEALS);
    return seals >= 0 && ((seals & F_SEAL_FUTURE_WRITE) != 0 ||
                          ::fcntl(memory, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0);
}

/// Maps the memory of a descriptor; -1: private memory of this process. Null with errno set on
/// failure.
std::shared_ptr<std::byte> map_memory(int fd) {
    const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void* const at = ::mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED)
        return nullptr;
    return {static_cast<std::byte*>(at), [](std::byte* p) { ::munmap(p, kMemoryBytes); }};
}

/// Returns the first descriptor of a message; `many`: it had more, which are closed.
ForeignFd descriptor_of(msghdr& msg, bool& many) {
    ForeignFd out;
    many = false;
    for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
            ForeignFd owned(fd);
            if (!out)
                out = std::move(owned);
            else
                many = true;
        }
    }
    return out;
}

/// Sends a message, with a descriptor unless that is -1. Returns false if it cannot be sent now.
bool send_message(int socket, std::span<const std::byte> bytes, int fd) {
    iovec iov{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    if (fd >= 0) {
        msg.msg_control = control.data();
        msg.msg_controllen = control.size();
        cmsghdr* const c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    return ::sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(bytes.size());
}

}  // namespace

ShmPeer::ShmPeer(ForeignSocket socket, const ShmCard& own) : socket_(std::move(socket)), own_(own) {
    ucred peer{};
    socklen_t len = sizeof peer;
    if (!socket_ || ::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return;
    process_ = peer.pid;
    // Clients' memory goes only to cards of the same user, which could read it with ptrace anyway.
    same_user_ = peer.uid == ::geteuid();
}

std::unique_ptr<ShmPeer> ShmPeer::connect(const std::string& address, const ShmCard& own) {
    ForeignSocket fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address.c_str(), std::min(address.size(), sizeof to.sun_path - 1));
    if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        return nullptr;
    auto peer = std::make_unique<ShmPeer>(std::move(fd), own);
    peer->address_ = address;
    return peer;
}

bool ShmPeer::greet() {
    made_ = make_memory();
    return made_ && map(made_.get(), true) && send_hello(made_.get());
}

std::pair<std::unique_ptr<ShmPeer>, std::unique_ptr<ShmPeer>> ShmPeer::local_pair(
    const ShmCard& first, const ShmCard& second) {
    auto memory = map_memory(-1);
    if (memory == nullptr)
        throw std::system_error(errno, std::generic_category(), "memory of a wire");
    std::pair out{std::make_unique<ShmPeer>(ForeignSocket(), first),
                  std::make_unique<ShmPeer>(ForeignSocket(), second)};
    out.first->use(memory, true, true);
    out.second->use(std::move(memory), false, true);
    out.first->card_ = second;
    out.second->card_ = first;
    out.first->other_ = out.second.get();
    out.second->other_ = out.first.get();
    return out;
}

ShmPeer::~ShmPeer() {
    if (other_ != nullptr) {
        gather(std::chrono::nanoseconds(0), true);  // same thread: the peer is not reading
        other_->other_ = nullptr;
        other_->gone_ = true;
        other_->kicked_ = true;
    }
}

void ShmPeer::use(std::shared_ptr<std::byte> memory, bool ours, bool local) {
    memory_ = std::move(memory);
    if (!local) {
        offers_ = std::make_unique<ShmOffers>();
        takings_ = std::make_unique<ShmTakings>();
    }
    // The creator sends in the first half.
    tx_.emplace(memory_.get() + (ours ? 0 : kShmDirectionBytes), local);
    rx_.emplace(memory_.get() + (ours ? kShmDirectionBytes : 0), local);
}

bool ShmPeer::map(int memory, bool ours) {
    struct stat st {};
    const int seals = ::fcntl(memory, F_GET_SEALS);
    // Only memory files have seals: fstat() of others may block for ever (FUSE).
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(memory, &st) != 0 ||
        st.st_size != static_cast<off_t>(kMemoryBytes))
        return false;
    auto mapped = map_memory(memory);
    if (mapped == nullptr)
        return false;
    use(std::move(mapped), ours, false);
    return true;
}

bool ShmPeer::send_hello(int memory) {
    const Hello hello{kMagic, kVersion, own_.mac, kShmRingBytes,
                      (own_.wants_icrc ? kWantsIcrc : 0) | (own_.references ? kReferences : 0)};
    return send_message(socket_.get(), std::as_bytes(std::span(&hello, 1)), memory);
}

bool ShmPeer::send(const ShmSlotMessage& message, int fd) {
    return send_message(socket_.get(), std::as_bytes(std::span(&message, 1)), fd);
}

// Tells the peer our version, so that its log can name it.
void ShmPeer::refuse_version(std::uint32_t version) {
    other_version_ = version;
    bad_ = true;
    if (!ready())
        send_hello(-1);
}

std::string ShmPeer::stranger() const {
    // A card of version 1 does not answer our hello but closes the connection that we made.
    if (!gone() || mac() != 0 || (other_version_ == 0 && !(gone_ && ready())))
        return "";
    return fmt::format(
        "a card of process {} on the segment {}: it cannot exchange frames with this card (version "
        "{}); restart cards that were started by an older build",
        process_,
        other_version_ != 0 ? fmt::format("speaks version {} of the shm wire", other_version_)
                            : "closed the connection without a hello, as an older version does",
        kVersion);
}

void ShmPeer::take_hello(const Hello& hello, int memory) {
    if (hello.magic != kMagic || hello.ring_bytes != kShmRingBytes ||
        (hello.flags & ~(kWantsIcrc | kReferences)) != 0 || mac() != 0 || hello.mac == 0) {
        bad_ = true;
        return;
    }
    const bool mine = ready();
    if (mine ? !seal(made_.get())
             : memory < 0 || !map(memory, false) || !seal(memory) || !send_hello(-1)) {
        bad_ = true;
        return;
    }
    made_.reset();
    card_ = {hello.mac, (hello.flags & kWantsIcrc) != 0, (hello.flags & kReferences) != 0};
}

bool ShmPeer::take_message(const ShmSlotMessage& message, int fd, bool lost) {
    switch (message.kind) {
        case ShmSlotMessage::kOffer:
        case ShmSlotMessage::kLend:
        case ShmSlotMessage::kWithdraw:
            if (!own_.references || unsent_.size() >= 2 * kShmSlots)
                return false;  // as announced in our hello; or it reads no answers
            if (const auto answer = takings_->take(message, fd, lost); answer)
                unsent_.push_back(*answer);
            else
                return false;
            return true;
        case ShmSlotMessage::kTaken:
        case ShmSlotMessage::kRefused:
        case ShmSlotMessage::kReturned:
            return offers_->answer(message);
        default:
            return false;
    }
}

void ShmPeer::tell() {
    if (!ready() || tx_->local() || gone())
        return;
    std::size_t told = 0;
    while (told < unsent_.size() && send(unsent_[told], -1))
        told++;
    unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(told));
    offers_->withdraw_gone([this](const auto& m, int fd) { return send(m, fd); });
}

unsigned ShmPeer::service(unsigned budget) {
    const auto slot_message = [](const Hello& received) {
        ShmSlotMessage out;
        std::memcpy(static_cast<void*>(&out), &received, sizeof out);
        return out;
    };
    while (budget != 0 && !gone()) {
        Hello hello{};
        static_assert(sizeof(ShmSlotMessage) < sizeof hello);
        iovec iov{&hello, sizeof hello};
        Control control{};
        msghdr msg{};
        msg.msg_iov = &iov;
        msg.msg_iovlen = 1;
        msg.msg_control = control.bytes.data();
        msg.msg_controllen = sizeof control.bytes;
        const ssize_t got = ::recvmsg(socket_.get(), &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return budget;
        budget -= std::min(budget, got == 1 ? kCostOfKick : kCostOfMemory);
        if (got < 0 && errno == ECONNRESET)
            continue;  // it closed without reading everything, but may have sent something before
        bool many = false;
        const ForeignFd memory = got > 0 ? descriptor_of(msg, many) : ForeignFd();
        // Each unexpected descriptor costs two system calls.
        const bool uncalled = many || (got == 1 && memory);
        if (got <= 0)
            gone_ = true;
        else if (uncalled || (got == 1 && !ready()))
            bad_ = true;
        else if (got >= kVersionBytes && hello.magic == kMagic && hello.version != kVersion)
            refuse_version(hello.version);  // whatever else the message contains
        else if (got == static_cast<ssize_t>(sizeof hello))
            take_hello(hello, memory.get());
        else if (got != 1)
            bad_ =
                got != static_cast<ssize_t>(sizeof(ShmSlotMessage)) || !ready() ||
                !take_message(slot_message(hello), memory.get(), (msg.msg_flags & MSG_CTRUNC) != 0);
    }
    return budget;
}

void ShmPeer::kick() {
    if (!socket_) {
        if (other_ != nullptr)
            other_->kicked_ = true;
        return;
    }
    const char byte = 0;
    // If the socket is full, unread kicks are queued in it and another one is not needed.
    ::send(socket_.get(), &byte, sizeof byte, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace dingo
