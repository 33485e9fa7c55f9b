// SPDX-License-Identifier: BSD-2-Clause
//
// Transfers, each verified byte by byte, with the bytes around it. The client drives: it asks the
// server over TCP to prepare and to check its side.
#include "operations.h"

#include <cerrno>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

namespace verbs_check {
namespace {

enum Command : std::uint32_t {
    kFill,
    kCheck,
    kPostReceive,
    kWaitReceive,
    kSetWord,
    kGetWord,
    kBye
};

constexpr std::size_t kGuard = 64;  // bytes around a transfer that must not change
constexpr std::uint8_t kGuardByte = 0xa5;

std::uint8_t pattern(std::uint64_t seed, std::uint64_t i) {
    std::uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ULL + i * 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 29;
    return static_cast<std::uint8_t>(x >> 16);
}

void fill(Buffer& buffer, std::uint64_t offset, std::uint32_t length, std::uint64_t seed) {
    buffer.begin_cpu();
    const auto bytes = buffer.bytes();
    for (std::uint64_t i = 0; i < length; ++i) {
        bytes[offset + i] = pattern(seed, i);
    }
    buffer.end_cpu();
}

void set_guards(Buffer& buffer, std::uint64_t offset, std::uint32_t length) {
    buffer.begin_cpu();
    const auto bytes = buffer.bytes();
    std::memset(bytes.data() + offset - kGuard, kGuardByte, length + 2 * kGuard);
    buffer.end_cpu();
}

void check(Buffer& buffer, std::uint64_t offset, std::uint32_t length, std::uint64_t seed) {
    buffer.begin_cpu();
    const auto bytes = buffer.bytes();
    for (std::uint64_t i = 0; i < length; ++i) {
        if (bytes[offset + i] != pattern(seed, i)) {
            throw std::runtime_error("byte " + std::to_string(i) + " of " + std::to_string(length) +
                                     " is wrong");
        }
    }
    for (std::uint64_t i = 1; i <= kGuard; ++i) {
        if (bytes[offset - i] != kGuardByte || bytes[offset + length + i - 1] != kGuardByte) {
            throw std::runtime_error("a byte beside the " + std::to_string(length) +
                                     " transferred ones changed");
        }
    }
    buffer.end_cpu();
}

void post_receive(Device& device, Buffer& buffer, std::uint64_t offset, std::uint32_t length) {
    ibv_sge sge{buffer.iova() + offset, length, buffer.lkey()};
    ibv_recv_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    const int error = ibv_post_recv(device.qp(), &wr, &bad);
    if (error != 0) {
        throw std::runtime_error(std::string("ibv_post_recv: ") + std::strerror(error));
    }
}

class Client {
  public:
    Client(Channel& channel, Device& device, Buffer& buffer, const Endpoint& remote)
        : channel_(channel), device_(device), buffer_(buffer), remote_(remote) {}

    void transfer(ibv_wr_opcode opcode, std::uint32_t length, std::uint64_t seed) {
        const std::uint64_t offset = kGuard + seed % 61;
        if (opcode == IBV_WR_RDMA_READ) {
            ask({kFill, length, offset, seed, 0});
            set_guards(buffer_, offset, length);
            post(opcode, offset, length, 0);
            check(buffer_, offset, length, seed);
            return;
        }
        const bool receives = opcode != IBV_WR_RDMA_WRITE;
        ask({receives ? kPostReceive : kFill, length, offset, ~seed, opcode == IBV_WR_SEND});
        set_guards(buffer_, offset, length);
        fill(buffer_, offset, length, seed);
        post(opcode, offset, length, static_cast<std::uint32_t>(seed));
        if (receives) {
            ask({kWaitReceive, length, offset, seed, opcode == IBV_WR_RDMA_WRITE_WITH_IMM});
        }
        ask({kCheck, length, offset, seed, 0});
    }

    void atomics(std::uint64_t seed) {
        const std::uint64_t word = 0;
        ask({kSetWord, 8, word, 0, seed});
        std::uint64_t expected = seed;
        for (unsigned i = 0; i < 20; ++i) {
            const bool swap = i % 3 == 2;
            const std::uint64_t got =
                atomic(swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD, word,
                       swap ? expected : i * 0x100000001ULL, ~expected);
            if (got != expected) {
                throw std::runtime_error("atomic returned the wrong old value");
            }
            expected = swap ? ~expected : expected + i * 0x100000001ULL;
        }
        if (ask({kGetWord, 8, word, 0, 0}).value != expected) {
            throw std::runtime_error("memory has the wrong value after atomics");
        }
    }

    Message ask(const Message& request) {
        channel_.send(request);
        const auto answer = channel_.receive<Message>();
        if (answer.command != request.command) {
            throw std::runtime_error("the server found an error (see its output)");
        }
        return answer;
    }

  private:
    void post_wr(ibv_send_wr& wr) {
        ibv_send_wr* bad = nullptr;
        wr.send_flags = IBV_SEND_SIGNALED;
        const int error = ibv_post_send(device_.qp(), &wr, &bad);
        if (error != 0) {
            throw std::runtime_error(std::string("ibv_post_send: ") + std::strerror(error));
        }
        device_.wait();
    }

    // Two gather entries if the length allows, to test the boundary between them, too.
    void post(ibv_wr_opcode opcode, std::uint64_t offset, std::uint32_t length, std::uint32_t imm) {
        const std::uint32_t first = length / 3;
        ibv_sge sge[2] = {{buffer_.iova() + offset, first, buffer_.lkey()},
                          {buffer_.iova() + offset + first, length - first, buffer_.lkey()}};
        ibv_send_wr wr{};
        wr.sg_list = first > 0 ? sge : sge + 1;
        wr.num_sge = first > 0 ? 2 : 1;
        wr.opcode = opcode;
        wr.imm_data = imm;
        wr.wr.rdma.remote_addr = remote_.iova + offset;
        wr.wr.rdma.rkey = remote_.rkey;
        post_wr(wr);
    }

    std::uint64_t atomic(ibv_wr_opcode opcode, std::uint64_t offset, std::uint64_t compare_add,
                         std::uint64_t swap) {
        ibv_sge sge{buffer_.iova() + 8, 8, buffer_.lkey()};
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = opcode;
        wr.wr.atomic.remote_addr = remote_.iova + offset;
        wr.wr.atomic.rkey = remote_.rkey;
        wr.wr.atomic.compare_add = compare_add;
        wr.wr.atomic.swap = swap;
        post_wr(wr);
        std::uint64_t old = 0;
        buffer_.begin_cpu();
        std::memcpy(&old, buffer_.bytes().data() + 8, 8);
        buffer_.end_cpu();
        return old;
    }

    Channel& channel_;
    Device& device_;
    Buffer& buffer_;
    const Endpoint& remote_;
};

void answer(Channel& channel, Device& device, Buffer& buffer, Message& m) {
    switch (m.command) {
        case kFill:
            set_guards(buffer, m.offset, m.length);
            fill(buffer, m.offset, m.length, m.seed);
            break;
        case kPostReceive:
            set_guards(buffer, m.offset, m.length);
            // For WRITE with immediate, the receive gets only the immediate.
            post_receive(device, buffer, m.offset, m.value != 0 ? m.length : 0);
            break;
        case kWaitReceive: {
            const ibv_wc wc = device.wait();
            if (wc.byte_len != m.length ||
                (m.value != 0 && wc.imm_data != static_cast<std::uint32_t>(m.seed))) {
                throw std::runtime_error("receive completion has wrong length or immediate");
            }
            break;
        }
        case kCheck:
            check(buffer, m.offset, m.length, m.seed);
            break;
        case kSetWord: {
            buffer.begin_cpu();
            std::memcpy(buffer.bytes().data() + m.offset, &m.value, 8);
            buffer.end_cpu();
            break;
        }
        case kGetWord: {
            buffer.begin_cpu();
            std::memcpy(&m.value, buffer.bytes().data() + m.offset, 8);
            buffer.end_cpu();
            break;
        }
        default:
            throw std::runtime_error("unknown request");
    }
    channel.send(m);
}

}  // namespace

void serve(Channel& channel, Device& device, Buffer& buffer) {
    for (;;) {
        auto m = channel.receive<Message>();
        if (m.command == kBye) {
            channel.send(m);
            return;
        }
        const bool fits = m.offset <= buffer.bytes().size() &&
                          m.length + kGuard <= buffer.bytes().size() - m.offset;
        if (!fits) {
            throw std::runtime_error(
                "request outside the buffer: give both sides the same --bytes");
        }
        answer(channel, device, buffer, m);
    }
}

unsigned run_client(Channel& channel, Device& device, Buffer& buffer, const Endpoint& remote,
                    unsigned rounds, std::uint64_t seed) {
    Client client(channel, device, buffer, remote);
    const auto room = static_cast<std::uint32_t>(buffer.bytes().size() - 2 * kGuard - 64);
    const bool atomics = remote.atomics != 0 && device.has_atomics();
    unsigned checked = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        for (const std::uint32_t length : {1U, 3U, 64U, 255U, 256U, 257U, 1023U, 1024U, 1025U,
                                           4095U, 4096U, 4097U, 65536U, 100'001U, room}) {
            if (length > room) {
                continue;
            }
            for (const auto opcode :
                 {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM}) {
                client.transfer(opcode, length, ++seed);
                ++checked;
            }
        }
        if (atomics) {
            client.atomics(++seed);
            ++checked;
        }
    }
    client.ask({kBye, 0, 0, 0, 0});
    return checked;
}

}  // namespace verbs_check
