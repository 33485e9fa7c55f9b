// SPDX-License-Identifier: BSD-2-Clause
#include "fake_card.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

using dingo::UniqueFd;

FakeCard::FakeCard(const std::filesystem::path& dir, uid_t user) : dir_(dir), user_(user) {
    listeners_ = {listen("uverbs.sock"), listen("rdma_cm.sock")};
    thread_ = std::thread([this] { run(); });
}

void FakeCard::offer_rdma_cm() const {
    std::filesystem::create_symlink("../../rdma_cm.sock", dir_ / "dev/infiniband/rdma_cm");
}

UniqueFd FakeCard::listen(const std::string& name) const {
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = (dir_ / name).string();
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        throw std::runtime_error("no socket at " + path);
    }
    // SO_PEERCRED reports to clients the user of this thread at the time of listen().
    const uid_t self = ::geteuid();
    ::syscall(SYS_setresuid, -1, user_, -1);
    const int listens = ::listen(fd.get(), 64);
    ::syscall(SYS_setresuid, -1, self, -1);
    if (listens != 0) {
        throw std::runtime_error("no socket at " + path);
    }
    return fd;
}

FakeCard::~FakeCard() {
    stop_ = true;
    thread_.join();
}

void FakeCard::run() {
    while (!stop_) {
        std::vector<pollfd> polled;
        for (const auto& listener : listeners_) {
            polled.push_back({listener.get(), POLLIN, 0});
        }
        for (const auto& client : clients_) {
            polled.push_back({client.fd.get(), POLLIN, 0});
        }
        if (::poll(polled.data(), polled.size(), 20) <= 0) {
            continue;
        }
        for (std::size_t n = listeners_.size(); n < polled.size() && !dead_; n++) {
            if (polled[n].revents == 0) {
                continue;
            }
            const auto client = std::ranges::find_if(
                clients_, [&](const Client& c) { return c.fd.get() == polled[n].fd; });
            Message message;
            if (receive(polled[n].fd, message)) {
                handle(message, *client);
            } else {
                clients_.erase(client);
            }
        }
        for (std::size_t n = 0; n < listeners_.size() && !dead_; n++) {
            if (polled[n].revents != 0) {
                clients_.push_back(
                    {UniqueFd(::accept4(polled[n].fd, nullptr, nullptr, SOCK_CLOEXEC)), n == 1});
            }
        }
        if (dead_) {
            clients_.clear();
            channels_.clear();
            memory_.clear();
            listeners_ = {};
        }
    }
}

bool FakeCard::receive(int fd, Message& message) {
    std::vector<std::uint8_t> bytes(DINGO_UVERBS_MAX_MESSAGE);
    std::array<char, CMSG_SPACE(sizeof(int) * DINGO_UVERBS_MAX_FDS)> control{};
    iovec part{bytes.data(), bytes.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
    if (got < static_cast<ssize_t>(sizeof(message.head))) {
        return false;
    }
    std::memcpy(&message.head, bytes.data(), sizeof(message.head));
    std::size_t at = sizeof(message.head);
    const auto take = [&](void* into, std::size_t length) {
        const bool there = length <= static_cast<std::size_t>(got) - at;
        if (there && length > 0) {
            std::memcpy(into, bytes.data() + at, length);
            at += length;
        }
        return there;
    };
    message.segments.resize(message.head.num_segments);
    message.arguments.resize(message.head.num_arguments);
    message.payload.resize(message.head.payload_len);
    bool whole =
        take(message.segments.data(), message.segments.size() * sizeof(dingo_uverbs_segment)) &&
        take(message.arguments.data(), message.arguments.size() * sizeof(dingo_uverbs_argument)) &&
        take(message.payload.data(), message.payload.size());
    for (const dingo_uverbs_argument& argument : message.arguments) {
        message.bytes.emplace_back((argument.flags & DINGO_UVERBS_ROOM) != 0 ? 0 : argument.length);
        whole = whole && take(message.bytes.back().data(), message.bytes.back().size());
    }
    if (!whole || at != static_cast<std::size_t>(got)) {
        return false;
    }
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
        const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        std::vector<int> numbers(count);
        std::memcpy(numbers.data(), CMSG_DATA(c), count * sizeof(int));
        for (const int number : numbers) {
            message.fds.emplace_back(number);
        }
    }
    return !message.fds.empty();
}

void FakeCard::handle(Message& message, const Client& client) {
    asks_ = client.fd.get();
    dingo_uverbs_reply reply{};
    reply.version = DINGO_UVERBS_VERSION;
    reply.type = DINGO_UVERBS_DONE;
    fixups_.clear();
    reply_fds_.clear();
    results_.clear();
    result_bytes_.clear();
    switch (message.head.type) {
        case DINGO_UVERBS_HELLO:
            hellos_++;
            if (client.rdma_cm) {
                cm_memory_ |= message.fds.size() > 1;
            } else {
                memory_[message.head.pid] =
                    message.fds.size() > 1 ? std::move(message.fds[1]) : UniqueFd();
            }
            reply.rdev = client.rdma_cm ? 10U << 20 | 58 : 231U << 20 | 192;
            if (asks_ == holds_ && !held_) {
                held_ = std::move(message.fds[0]);
                return;
            }
            if (asks_ == holds_) {
                send(held_.get(), reply);
                held_.reset();
                holds_ = -1;
            }
            break;
        case DINGO_UVERBS_RDMA_CM:
            rdma_cm(message, reply);
            break;
        case DINGO_UVERBS_IOCTL:
            ioctl(message, reply);
            break;
        case DINGO_UVERBS_WRITE:
            reply.result = static_cast<int>(message.payload.size());
            break;
        case DINGO_UVERBS_MMAP: {
            UniqueFd file(::memfd_create("fake", MFD_CLOEXEC));
            if (::ftruncate(file.get(), 8192) == 0 && ::pwrite(file.get(), "page two", 8, 4096)) {
                reply.map_offset = 4096;
            }
            reply.result = message.head.arg == 0x7000 && message.head.arg2 == 4096 ? 0 : -EINVAL;
            if (reply.result == 0) {
                reply_fds_.push_back(std::move(file));
            }
            break;
        }
        case DINGO_UVERBS_SYSFS: {
            UniqueFd file(::memfd_create("text", MFD_CLOEXEC));
            const std::string text =
                "card says " + std::string(message.payload.begin(), message.payload.end());
            if (::write(file.get(), text.data(), text.size()) < 0 || ::lseek(file.get(), 0, 0)) {
                reply.result = -EIO;
            }
            reply_fds_.push_back(std::move(file));
            break;
        }
        case DINGO_UVERBS_NETLINK: {
            // Returns as many messages, one per piece, as the sequence number says; 0 is refused.
            nlmsghdr request{};
            std::memcpy(&request, message.payload.data(), sizeof request);
            UniqueFd file(::memfd_create("messages", MFD_CLOEXEC));
            std::vector<std::uint8_t> bytes(500);
            const auto number = static_cast<std::uint32_t>(message.head.arg);
            const nlmsghdr answer{500, 5 << 10, NLM_F_MULTI, number, 0};
            std::memcpy(bytes.data(), &answer, sizeof answer);
            if (::write(file.get(), bytes.data(), bytes.size()) < 0) {
                reply.result = -EIO;
            }
            reply.next = number + 1 < request.nlmsg_seq ? number + 1 : 0;
            if (request.nlmsg_seq == 0) {
                reply.result = -EOPNOTSUPP;
            }
            reply_fds_.push_back(std::move(file));
            break;
        }
        default:
            reply.result = -EINVAL;
    }
    if (!dead_) {
        send(message.fds[0].get(), reply);
    }
}

int FakeCard::send_token() {
    for (const Client& client : clients_) {
        if (client.rdma_cm && ::send(client.fd.get(), "t", 1, MSG_NOSIGNAL) < 0) {
            return -errno;
        }
    }
    return 0;
}

/// Each identifier has an event that arrives just before the identifier is destroyed or migrated
/// and vanishes with it.
void FakeCard::rdma_cm(const Message& message, dingo_uverbs_reply& reply) {
    const bool token = (message.head.flags & DINGO_UVERBS_TOKEN) != 0;
    rdma_ucm_cmd_hdr head{};
    std::memcpy(&head, message.payload.data(), std::min(message.payload.size(), sizeof(head)));
    reply.result = static_cast<int>(message.payload.size());
    if (message.payload.empty()) {
        cm_given_back_ += token ? 1 : 0;
    } else if (head.cmd == RDMA_USER_CM_CMD_DESTROY_ID) {
        send_token();
        reply.idle_token = DINGO_UVERBS_IDLE_HERE;
    } else if (head.cmd == RDMA_USER_CM_CMD_MIGRATE_ID) {
        send_token();
        reply.idle_token = DINGO_UVERBS_IDLE_LEFT;
    } else if (!token) {
        reply.result = -EAGAIN;
        cm_waiting_++;
    }
}

void FakeCard::take_segments(const Message& message, std::uint64_t va, std::uint64_t length,
                             dingo_uverbs_reply& reply) {
    const std::uint64_t first = va & ~std::uint64_t{4095};
    const std::uint64_t last = (va + length + 4095) & ~std::uint64_t{4095};
    std::uint64_t bytes = 0;
    for (const dingo_uverbs_segment& segment : message.segments) {
        const int fd = message.fds.at(1 + segment.fd).get();
        const int seals = ::fcntl(fd, F_GET_SEALS);
        const auto same = [&](const Segment& s) {
            return s.va == segment.va && s.length == segment.length && s.offset == segment.offset;
        };
        if (std::ranges::none_of(segments_, same)) {
            const bool sealed = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
            const bool by_file = (segment.flags & DINGO_UVERBS_SEGMENT_FILE) != 0;
            const bool rw = (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
            void* at = ::mmap(nullptr, segment.length, PROT_READ | (rw ? PROT_WRITE : 0),
                              MAP_SHARED, fd, static_cast<off_t>(segment.offset));
            if ((!sealed && !by_file) || at == MAP_FAILED) {
                reply.result = -EINVAL;
                return;
            }
            segments_.push_back(
                {segment.va, segment.length, segment.offset, static_cast<std::uint8_t*>(at)});
        }
        // Memory outside of the region is mapped as well, but was not requested.
        const std::uint64_t begin = std::max(segment.va, first);
        bytes += std::max(std::min(segment.va + segment.length, last), begin) - begin;
    }
    reply.result = static_cast<int>(bytes);
}

std::uint8_t* FakeCard::shared_at(std::uint64_t va) {
    for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
        if (va >= segment->va && va < segment->va + segment->length) {
            return segment->at + (va - segment->va);
        }
    }
    return nullptr;
}

void FakeCard::ioctl(const Message& message, dingo_uverbs_reply& reply) {
    ib_uverbs_ioctl_hdr header{};
    std::array<ib_uverbs_attr, 4> attrs{};
    std::memcpy(&header, message.payload.data(), sizeof(header));
    std::memcpy(attrs.data(), message.payload.data() + sizeof(header),
                std::min(message.payload.size() - sizeof(header), sizeof(attrs)));
    const std::uint64_t first = attrs[0].data;
    const std::uint64_t second = attrs[1].data;
    if (header.object_id == UVERBS_OBJECT_MR) {
        return register_dmabuf(message, reply);
    }
    switch (header.method_id) {
        case kEcho: {
            auto bytes = brought(message, first);
            if (bytes.size() < 8 || message.arguments.size() != 2) {
                reply.result = -EFAULT;
                return;
            }
            bytes.resize(8);
            ++bytes[0];
            result(2, bytes);
            echoes_++;
            return;
        }
        case kChannels:
            for (const std::uint32_t kind : {DINGO_UVERBS_FD_COMP, DINGO_UVERBS_FD_ASYNC}) {
                std::array<int, 2> pair{};
                ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data());
                const ib_uverbs_comp_event_desc comp{.cq_handle = 0x1234};
                const ib_uverbs_async_event_desc async{
                    .element = 5, .event_type = 9, .reserved = 0};
                const bool is_comp = kind == DINGO_UVERBS_FD_COMP;
                if (::send(pair[0], is_comp ? static_cast<const void*>(&comp) : &async,
                           is_comp ? sizeof(comp) : sizeof(async), 0) < 0) {
                    reply.result = -errno;
                }
                fixups_.push_back({.va = is_comp ? first : second,
                                   .size = is_comp ? 4U : 8U,
                                   .fd = static_cast<std::uint32_t>(reply_fds_.size()),
                                   .kind = kind,
                                   .reserved = 0});
                channels_.emplace_back(pair[0]);
                reply_fds_.emplace_back(pair[1]);
            }
            return;
        case kShare:
            if ((message.head.flags & DINGO_UVERBS_SHARED) == 0) {
                reply.type = DINGO_UVERBS_NEED_SHARING;
                reply.need_va = first;
                reply.need_length = second;
                reply.need_writable = static_cast<std::uint32_t>(attrs[2].data);
                return;
            }
            if ((message.head.flags & DINGO_UVERBS_FAULT) != 0) {
                reply.result = -EFAULT;
                return;
            }
            take_segments(message, first, second, reply);
            return;
        case kPoke:
        case kPeek: {
            std::uint8_t* at = shared_at(first);
            if (at == nullptr) {
                reply.result = -ENXIO;
            } else if (header.method_id == kPoke) {
                *at = static_cast<std::uint8_t>(second);
            } else {
                reply.result = *at;
            }
            return;
        }
        case kDie:
            dead_ = true;
            return;
        case kNeedFd:
            if ((message.head.flags & DINGO_UVERBS_FDS) == 0) {
                reply.type = DINGO_UVERBS_NEED_FDS;
                reply.num_need_fds = 1;
                reply.need_fds[0] = static_cast<std::int32_t>(first);
            } else if ((message.head.flags & DINGO_UVERBS_BADF) != 0) {
                reply.result = -EBADF;
            } else {
                struct stat st {};
                reply.result = ::fstat(message.fds.at(1).get(), &st) == 0
                                   ? static_cast<int>(st.st_size)
                                   : -errno;
            }
            return;
        case kMemoryKind: {
            struct statfs fs {};
            ::fstatfs(memory_[message.head.pid].get(), &fs);
            reply.result = (fs.f_type == PROC_SUPER_MAGIC ? 1 : 0) + (cm_memory_ ? 2 : 0);
            return;
        }
        case kAnswer:
            answer(message, second);
            reply.result = second == 5 ? -EINVAL : 0;
            return;
        case kSteal:
            wanted_va_ = first;
            wanted_fd_ = static_cast<std::int32_t>(second);
            return;
        case kInvokeWrite:
            register_memory(message, attrs[1], reply);
            return;
        case kVersion:
            reply.version = static_cast<std::uint32_t>(first);
            return;
        case kEchoes:
            reply.result = echoes_;
            return;
        case kHoldHello:
            holds_ = asks_;
            return;
        case kHellos:
            reply.result = hellos_;
            return;
        case kCmWaiting:
            reply.result = cm_waiting_;
            return;
        case kPlaces:
            reply.result = static_cast<int>(segments_.size());
            return;
        case kCmEvent:
            reply.result = send_token();
            return;
        case kCmGivenBack:
            reply.result = cm_given_back_;
            return;
        default:
            reply.result = -EPROTONOSUPPORT;
    }
}

std::uint32_t FakeCard::number_of(const Message& message, std::uint64_t va) {
    for (std::uint32_t n = 1; n <= message.arguments.size(); n++) {
        if (message.arguments[n - 1].va == va) {
            return n;
        }
    }
    return 0;
}

std::vector<std::uint8_t> FakeCard::brought(const Message& message, std::uint64_t va) {
    const std::uint32_t number = number_of(message, va);
    return number == 0 ? std::vector<std::uint8_t>{} : message.bytes[number - 1];
}

void FakeCard::result(std::uint32_t argument, std::vector<std::uint8_t> bytes) {
    results_.push_back({argument, 0, static_cast<std::uint32_t>(bytes.size())});
    result_bytes_.insert(result_bytes_.end(), bytes.begin(), bytes.end());
}

void FakeCard::answer(const Message& message, std::uint64_t how) {
    if (how == 7) {
        result(0, {UVERBS_ATTR_F_VALID_OUTPUT, 0});
        results_.back().offset = static_cast<std::uint32_t>(
            message.payload.size() - sizeof(ib_uverbs_attr) + offsetof(ib_uverbs_attr, flags));
        return;
    }
    const std::string text = "bcdefghijklmnop\001";
    std::vector<std::uint8_t> bytes(text.begin(), text.end());
    bytes.resize(bytes.size() + (how == 1 ? 1 : 0));
    std::vector<std::uint8_t> attributes = message.payload;
    const std::uint16_t flags = UVERBS_ATTR_F_VALID_OUTPUT;
    const std::uint64_t nonsense = 99;  // the caller's attribute values must not be changed
    const std::size_t at = sizeof(ib_uverbs_ioctl_hdr);
    std::memcpy(attributes.data() + at + offsetof(ib_uverbs_attr, flags), &flags, sizeof flags);
    std::memcpy(attributes.data() + at + offsetof(ib_uverbs_attr, data), &nonsense, 8);
    attributes.resize(attributes.size() + (how == 4 ? 16 : 0));
    result(0, attributes);
    result(how == 2 ? 3 : how == 6 ? 2 : 1, bytes);
    if (how == 3) {
        result_bytes_.pop_back();
    }
}

void FakeCard::register_memory(const Message& message, const ib_uverbs_attr& command,
                               dingo_uverbs_reply& reply) {
    ib_uverbs_reg_mr wanted{};
    const auto bytes = brought(message, command.data);
    std::memcpy(&wanted, bytes.data(), std::min(bytes.size(), sizeof wanted));
    if (bytes.size() != sizeof wanted) {
        reply.result = -EFAULT;
    } else if ((message.head.flags & DINGO_UVERBS_SHARED) == 0) {
        reply.type = DINGO_UVERBS_NEED_SHARING;
        reply.need_va = wanted.start;
        reply.need_length = wanted.length;
        reply.need_writable = 1;
        if (wanted_va_ != 0) {
            wanted.start = reply.need_va = wanted_va_;
            const auto* const at = reinterpret_cast<const std::uint8_t*>(&wanted);
            result(number_of(message, command.data), {at, at + sizeof wanted});
        }
    } else {
        take_segments(message, wanted.start, wanted.length, reply);
    }
}

void FakeCard::register_dmabuf(const Message& message, dingo_uverbs_reply& reply) {
    if ((message.head.flags & DINGO_UVERBS_FDS) != 0) {
        return;
    }
    std::vector<std::uint8_t> changed = message.payload;
    const std::int64_t number = wanted_fd_;
    std::memcpy(changed.data() + sizeof(ib_uverbs_ioctl_hdr) + offsetof(ib_uverbs_attr, data),
                &number, sizeof number);
    reply.type = DINGO_UVERBS_NEED_FDS;
    reply.num_need_fds = 1;
    reply.need_fds[0] = wanted_fd_;
    result(0, changed);
}

void FakeCard::send(int fd, const dingo_uverbs_reply& reply) {
    dingo_uverbs_reply head = reply;
    head.num_fixups = static_cast<std::uint32_t>(fixups_.size());
    head.num_results = static_cast<std::uint32_t>(results_.size());
    std::array<iovec, 4> parts{iovec{&head, sizeof(head)},
                               iovec{fixups_.data(), fixups_.size() * sizeof(fixups_[0])},
                               iovec{results_.data(), results_.size() * sizeof(results_[0])},
                               iovec{result_bytes_.data(), result_bytes_.size()}};
    std::array<char, CMSG_SPACE(sizeof(int) * DINGO_UVERBS_MAX_FDS)> control{};
    msghdr header{};
    header.msg_iov = parts.data();
    header.msg_iovlen = parts.size();
    if (!reply_fds_.empty()) {
        header.msg_control = control.data();
        header.msg_controllen = CMSG_SPACE(sizeof(int) * reply_fds_.size());
        cmsghdr* c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * reply_fds_.size());
        for (std::size_t n = 0; n < reply_fds_.size(); n++) {
            const int number = reply_fds_[n].get();
            std::memcpy(CMSG_DATA(c) + n * sizeof(int), &number, sizeof(int));
        }
    }
    ::sendmsg(fd, &header, MSG_NOSIGNAL);
}
