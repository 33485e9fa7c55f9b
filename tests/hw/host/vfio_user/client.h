// SPDX-License-Identifier: BSD-2-Clause
// A small vfio-user client for tests, in the server's thread: request() writes the message, lets
// the server work and reads the reply.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "host/vfio_user/protocol.h"
#include "host/vfio_user/server.h"

namespace dingo::vfio_user::test {

using Bytes = std::vector<std::byte>;

template <typename T>
void append(Bytes& to, const T& value) {
    to.resize(to.size() + sizeof value);  // not insert(): g++ 12 warns about an overflow there
    std::memcpy(to.data() + to.size() - sizeof value, &value, sizeof value);
}

template <typename T>
T as(const Bytes& from, std::size_t offset = 0) {
    T value{};
    EXPECT_LE(offset + sizeof value, from.size());
    if (offset + sizeof value <= from.size()) {
        std::memcpy(&value, from.data() + offset, sizeof value);
    }
    return value;
}

/// Records requests; `on_write` simulates an engine that does DMA on a doorbell.
class FakeDevice final : public PciFunction {
  public:
    std::uint64_t read(Bar bar, std::uint64_t offset, unsigned size) override {
        const auto it = values.find({bar, offset});
        last_size = size;
        return it == values.end() ? 0 : it->second;
    }
    std::optional<std::uint64_t> peek(Bar, std::uint64_t, unsigned) override { return told; }
    void write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) override {
        values[{bar, offset}] = value;
        last_size = size;
        ++writes;
        if (on_write) {
            on_write(bar, offset, value);
        }
    }
    void reset() override {
        ++resets;
        values.clear();
    }
    int doorbell_fd() const override { return doorbell_memory_fd; }
    std::span<std::byte> memory() const override { return card_memory; }
    int memory_fd() const override { return card_memory_fd; }
    void count_memory_access(bool write, std::uint64_t bytes) override {
        (write ? memory_written : memory_read) += bytes;
    }

    std::map<std::pair<Bar, std::uint64_t>, std::uint64_t> values;
    std::function<void(Bar, std::uint64_t, std::uint64_t)> on_write;
    unsigned last_size = 0;
    int writes = 0;
    int resets = 0;
    int doorbell_memory_fd = -1;
    std::optional<std::uint64_t> told;
    std::span<std::byte> card_memory;
    int card_memory_fd = -1;
    std::uint64_t memory_written = 0;
    std::uint64_t memory_read = 0;
};

inline UniqueFd make_memfd(std::size_t size) {
    UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
    return fd;
}

struct Answer {
    Header header{};
    Bytes payload;
    std::vector<UniqueFd> fds;
    [[nodiscard]] int error() const {
        return (header.flags & kFlagError) != 0 ? static_cast<int>(header.error) : 0;
    }
};

/// Sends one message with descriptors.
inline void send_to(int socket, std::span<const std::byte> bytes, std::span<const int> fds) {
    iovec iov{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 32)> control{};
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    if (!fds.empty()) {
        msg.msg_control = control.data();
        msg.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(c), fds.data(), fds.size_bytes());
    }
    ASSERT_EQ(::sendmsg(socket, &msg, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

/// Returns the next message; nullopt if there is none (MSG_DONTWAIT) or the connection is closed.
inline std::optional<Answer> receive_from(int socket, int flags) {
    Answer a;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 8)> control{};
    iovec iov{&a.header, sizeof a.header};
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control.data();
    msg.msg_controllen = control.size();
    if (::recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC) !=
        static_cast<ssize_t>(sizeof a.header)) {
        return std::nullopt;
    }
    for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
        a.fds.emplace_back(fd);
    }
    a.payload.resize(a.header.size - sizeof a.header);
    for (std::size_t have = 0; have < a.payload.size();) {
        const ssize_t n = ::recv(socket, a.payload.data() + have, a.payload.size() - have, 0);
        if (n <= 0) {
            return std::nullopt;
        }
        have += static_cast<std::size_t>(n);
    }
    return a;
}

/// Server, device and client, connected by a socket pair.
class Harness {
  public:
    static constexpr unsigned kVectors = 5;
    static constexpr std::uint64_t kDoorbellBytes = 64 * 4096;

    explicit Harness(std::chrono::milliseconds dma_timeout = std::chrono::seconds(5),
                     std::uint64_t card_memory = 0)
        : server(dma_timeout) {
        server.bind(device, {.vendor = 0x1234,
                             .device = 0xD160,
                             .class_code = 0x020000,
                             .revision = 1,
                             .bar0_size = 0x10000,
                             .bar2_size = kDoorbellBytes,
                             .bar4_size = card_memory,
                             .msix_vectors = kVectors,
                             .msix_table_offset = 0x8000,
                             .msix_pba_offset = 0xC000});
    }

    void connect() {
        std::array<int, 2> pair{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
        client.reset(pair[0]);
        server.attach(UniqueFd(pair[1]));
    }

    /// Connects and does QEMU's first steps.
    void start() {
        connect();
        ASSERT_EQ(request(Command::kVersion, version_payload()).error(), 0);
        set_command(0x6);
    }

    static Bytes version_payload(
        const std::string& json =
            R"({"capabilities": {"max_msg_fds": 8, "max_data_xfer_size": 1048576, "pgsizes": 4096}})") {
        Bytes payload;
        append(payload, Version{0, 0});
        for (const char c : json) {
            payload.push_back(static_cast<std::byte>(c));
        }
        payload.push_back(std::byte{0});
        return payload;
    }

    void send_raw(std::span<const std::byte> bytes, std::span<const int> fds = {}) {
        send_to(client.get(), bytes, fds);
    }

    void send(std::uint16_t command, const Bytes& payload, std::span<const int> fds = {},
              std::uint32_t flags = kTypeCommand) {
        send_id(next_id++, command, payload, fds, flags);
    }

    void send_id(std::uint16_t id, std::uint16_t command, const Bytes& payload,
                 std::span<const int> fds, std::uint32_t flags) {
        Bytes bytes;
        append(bytes,
               Header{id, command, static_cast<std::uint32_t>(sizeof(Header) + payload.size()),
                      flags, 0});
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        send_raw(bytes, fds);
    }

    /// Returns the next message from the server; nullopt if there is none or the connection is
    /// closed.
    std::optional<Answer> receive() { return receive_from(client.get(), MSG_DONTWAIT); }

    Answer request(std::uint16_t command, const Bytes& payload, std::span<const int> fds = {}) {
        const std::uint16_t id = next_id;
        send(command, payload, fds);
        server.service();
        auto answer = receive();
        EXPECT_TRUE(answer.has_value()) << "no reply to command " << command;
        if (!answer) {
            Answer none;
            none.header.flags = kFlagError;
            none.header.error = ECONNRESET;
            return none;
        }
        EXPECT_EQ(answer->header.id, id);
        EXPECT_EQ(answer->header.command, command);
        EXPECT_EQ(answer->header.flags & kTypeMask, kTypeReply);
        return std::move(*answer);
    }
    Answer request(Command command, const Bytes& payload, std::span<const int> fds = {}) {
        return request(static_cast<std::uint16_t>(command), payload, fds);
    }

    int map(std::uint64_t address, std::uint64_t size, int fd = -1, std::uint64_t offset = 0,
            std::uint32_t flags = kDmaReadable | kDmaWritable) {
        Bytes payload;
        append(payload, DmaMap{sizeof(DmaMap), flags, offset, address, size});
        return request(Command::kDmaMap, payload,
                       fd >= 0 ? std::span<const int>(&fd, 1) : std::span<const int>())
            .error();
    }

    int unmap(std::uint64_t address, std::uint64_t size, std::uint32_t flags = 0) {
        Bytes payload;
        append(payload, DmaUnmap{sizeof(DmaUnmap), flags, address, size});
        return request(Command::kDmaUnmap, payload).error();
    }

    static Bytes access(std::uint32_t region, std::uint64_t offset, std::uint32_t count) {
        Bytes payload;
        append(payload, RegionAccess{offset, region, count});
        return payload;
    }

    template <typename T>
    int write(std::uint32_t region, std::uint64_t offset, T value) {
        Bytes payload = access(region, offset, sizeof value);
        append(payload, value);
        return request(Command::kRegionWrite, payload).error();
    }

    template <typename T>
    T read(std::uint32_t region, std::uint64_t offset) {
        const Answer a = request(Command::kRegionRead, access(region, offset, sizeof(T)));
        EXPECT_EQ(a.error(), 0);
        return as<T>(a.payload, sizeof(RegionAccess));
    }

    /// Writes PCI_COMMAND: 0x2 memory, 0x4 bus master.
    void set_command(std::uint16_t value) {
        ASSERT_EQ(write<std::uint16_t>(VFIO_PCI_CONFIG_REGION_INDEX, 4, value), 0);
    }

    Answer set_irqs(std::uint32_t flags, std::uint32_t start, std::uint32_t count,
                    std::span<const int> fds = {}, std::span<const std::uint8_t> bools = {},
                    std::uint32_t index = VFIO_PCI_MSIX_IRQ_INDEX) {
        Bytes payload;
        append(payload, IrqSet{static_cast<std::uint32_t>(sizeof(IrqSet) + bools.size()), flags,
                               index, start, count});
        for (const std::uint8_t b : bools) {
            payload.push_back(static_cast<std::byte>(b));
        }
        return request(Command::kDeviceSetIrqs, payload, fds);
    }

    FakeDevice device;
    Server server;
    UniqueFd client;
    std::uint16_t next_id = 100;
};

}  // namespace dingo::vfio_user::test
