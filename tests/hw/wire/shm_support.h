// SPDX-License-Identifier: BSD-2-Clause
//
// Cards on an shm segment, of several threads or of one.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "base/exported_memory.h"
#include "base/unique_fd.h"
#include "dingo/packet/icrc.h"
#include "support.h"
#include "wire/local_segments.h"
#include "wire/shm_ring.h"
#include "wire/shm_segments.h"

namespace dingo::test {

inline constexpr std::uint64_t kMac = 0x02'00'00'00'00'00;
inline constexpr std::uint32_t kMagic = 0x44534d48;
inline constexpr std::uint32_t kVersion = 6;  ///< of the shm wire

/// Frames by the way in which they came.
class SortingSink final : public FrameSink {
  public:
    void on_frame(std::span<const std::byte> frame) override {
        with.emplace_back(frame.begin(), frame.end());
    }
    void on_frame_without_icrc(std::span<const std::byte> frame,
                               const Elsewhere& payload) override {
        elsewhere.push_back(payload.at);
        held.push_back(payload.held);
        without.emplace_back(frame.begin(), frame.end());
    }
    std::vector<Frame> with;
    std::vector<Frame> without;
    std::vector<const std::byte*> elsewhere;  ///< payloads of those
    std::vector<Held> held;                   ///< what keeps them
};

/// An RC WRITE from card 1 to card 2; without ICRC, as an engine leaves it.
inline Frame bare_frame(unsigned psn = 1) {
    packet::NetworkPath on = path();
    on.dmac = packet::Mac::from_u64(kMac + 2);
    Frame out =
        roce_frame(fmt::format("RC_RDMA_WRITE_MIDDLE qpn=17 psn={} payload=pattern:1024", psn), on);
    std::fill(out.end() - packet::kIcrcBytes, out.end(), std::byte{0});
    return out;
}

inline SortingSink sorted(Wire& wire) {
    SortingSink sink;
    for (int i = 0; i < 200; i++)
        wire.receive(sink, 256);
    return sink;
}

inline void send_referring(Wire& wire, std::span<const std::byte> payload,
                           Frame frame = bare_frame(), const Held& held = nullptr) {
    const std::size_t offset = frame.size() - packet::kIcrcBytes - payload.size();
    std::fill_n(frame.begin() + static_cast<std::ptrdiff_t>(offset), payload.size(), std::byte{0});
    const std::span<std::byte> room = wire.begin_frame(frame.size());
    ASSERT_FALSE(room.empty());
    ASSERT_TRUE(wire.takes_references());
    std::copy(frame.begin(), frame.end(), room.begin());
    wire.end_frame_referring(frame.size(), offset, payload, held);
    wire.flush();
}

inline Frame payload_of(const Frame& frame) {
    return {frame.end() - packet::kIcrcBytes - 1024, frame.end() - packet::kIcrcBytes};
}

/// Memory of a client, as a card maps it.
class Exported {
  public:
    static constexpr std::size_t kBytes = 64UL * 1024;
    explicit Exported(int seals = F_SEAL_SHRINK, std::size_t mapped = kBytes, bool lent = false)
        : fd_(::memfd_create("client", MFD_ALLOW_SEALING)) {
        EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(kBytes)), 0);
        ::fcntl(fd_.get(), F_ADD_SEALS, seals);
        bytes_ = {static_cast<std::byte*>(
                      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0)),
                  mapped};
        id_ = exported_memory().add(bytes_, open_for_reading(fd_.get()), 0, lent);
    }
    ~Exported() { forget(); }
    void forget() {
        exported_memory().remove(id_);
        if (!bytes_.empty())
            ::munmap(bytes_.data(), bytes_.size());
        bytes_ = {};
    }
    std::span<std::byte> payload(std::size_t at = 0, std::size_t bytes = 1024) {
        return bytes_.subspan(at, bytes);
    }
    int fd() const { return fd_.get(); }

  private:
    UniqueFd fd_;
    std::span<std::byte> bytes_;
    std::uint64_t id_ = 0;
};

class Shm : public ::testing::Test {
  protected:
    Shm() {
        char name[] = "/tmp/dingo-shm-XXXXXX";
        dir_ = ::mkdtemp(name);
    }
    ~Shm() override { std::filesystem::remove_all(dir_); }

    std::unique_ptr<Wire> card(unsigned n, const std::string& faults = "",
                               const std::string& options_of_wire = "") const {
        WireOptions options;
        options.wire = "shm:" + dir_ + "/net" + options_of_wire;
        options.mac = kMac + n;
        options.faults = faults;
        return make_wire(options);
    }

    /// From card `from` to card `to`, 0xff: to all.
    static Frame frame(unsigned from, unsigned to, std::size_t size = 100, unsigned tag = 0) {
        Frame out = plain_frame(size, tag);
        const auto put = [&](std::size_t at, unsigned n) {
            for (std::size_t i = 0; i < 6; i++)
                out[at + i] = std::byte{n == 0xff ? std::uint8_t{0xff} : std::uint8_t{0}};
            if (n != 0xff) {
                out[at] = std::byte{2};
                out[at + 5] = static_cast<std::byte>(n);
            }
        };
        put(0, to);
        put(6, from);
        return out;
    }

    static std::vector<Frame> take(Wire& wire) {
        KeepingSink sink;
        for (int i = 0; i < 200; i++)
            wire.receive(sink, 256);
        return sink.frames;
    }

    /// Lets hellos and farewells arrive.
    static void settle(std::initializer_list<Wire*> wires) {
        for (int i = 0; i < 3; i++)
            for (Wire* wire : wires)
                EXPECT_TRUE(take(*wire).empty());
    }

    std::string dir_;
};

/// Cards that one thread serves.
class ShmLocal : public Shm {
  protected:
    std::unique_ptr<Wire> local(unsigned n, const std::string& net = "net") {
        WireOptions options;
        options.wire = "shm:" + dir_ + "/" + net;
        options.mac = kMac + n;
        options.local = &segments_;
        return make_wire(options);
    }

    std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
    LocalSegments segments_{gate_};
};

/// A peer that speaks the handshake and then writes what it likes.
class Hostile {
  public:
    explicit Hostile(const std::string& net, int seals = F_SEAL_SHRINK | F_SEAL_GROW,
                     std::size_t size = 2 * kShmDirectionBytes) {
        for (const auto& entry : std::filesystem::directory_iterator(net)) {
            if (!entry.is_socket())
                continue;
            socket_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
            sockaddr_un to{};
            to.sun_family = AF_UNIX;
            std::strcpy(to.sun_path, entry.path().c_str());
            EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
        }
        fd_ = UniqueFd(::memfd_create("hostile", MFD_ALLOW_SEALING));
        EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(size)), 0);
        ::fcntl(fd_.get(), F_ADD_SEALS, seals);
        size_ = size;
        memory_ = static_cast<std::byte*>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    }
    ~Hostile() { ::munmap(memory_, size_); }

    void hello(std::uint32_t magic = kMagic, bool with_memory = true,
               std::uint32_t version = kVersion, std::uint64_t flags = 0, std::size_t bytes = 32) {
        struct {
            std::uint32_t magic, version;
            std::uint64_t mac, ring_bytes, flags;
        } hello{magic, version, kMac + 66, kShmRingBytes, flags};
        send(&hello, bytes, with_memory ? fd_.get() : -1);
    }

    /// True when the card has closed the connection.
    bool cut_off() {
        char buffer[256];
        for (;;) {
            const ssize_t n = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
            if (n <= 0)
                return n == 0 || errno == ECONNRESET;
        }
    }
    ShmRingHeader& ring(unsigned n) {
        return *reinterpret_cast<ShmRingHeader*>(memory_ + n * kShmDirectionBytes);
    }
    std::byte* data(unsigned n) { return memory_ + n * kShmDirectionBytes + kShmDataOffset; }
    int fd() const { return socket_.get(); }
    int memory() const { return fd_.get(); }
    /// A message about memory (shm_segments.h).
    void say(const ShmSlotMessage& message, int fd = -1) {
        EXPECT_EQ(send(&message, sizeof message, fd), static_cast<ssize_t>(sizeof message));
    }
    /// A kick with a descriptor, which no card sends.
    void kick_with(int fd) { EXPECT_EQ(send("", 1, fd), 1); }
    /// The kind of the next message about memory from the card; 0: none.
    std::uint32_t hear() {
        std::array<std::uint64_t, 4> got{};
        for (;;) {
            const ssize_t n = ::recv(socket_.get(), got.data(), sizeof got, MSG_DONTWAIT);
            if (n <= 0)
                return 0;
            if (n == static_cast<ssize_t>(sizeof(ShmSlotMessage)))
                return static_cast<std::uint32_t>(got[0]);
        }
    }

  private:
    /// A message with a descriptor that is not -1.
    ssize_t send(const void* bytes, std::size_t size, int fd) {
        iovec iov{const_cast<void*>(bytes), size};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        msghdr msg{};
        msg.msg_iov = &iov;
        msg.msg_iovlen = 1;
        if (fd >= 0) {
            msg.msg_control = control;
            msg.msg_controllen = sizeof control;
            cmsghdr* c = CMSG_FIRSTHDR(&msg);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
        }
        return ::sendmsg(socket_.get(), &msg, 0);
    }

    UniqueFd socket_;
    UniqueFd fd_;
    std::byte* memory_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace dingo::test
