// SPDX-License-Identifier: BSD-2-Clause
// A well-behaved client: it moves data and checks every byte.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include "rings.h"
#include "verbs.h"

namespace dingo::uverbs::test {

inline constexpr std::array<std::uint8_t, 16> kOwnGid{0, 0, 0,    0,    0,  0,  0, 0,
                                                      0, 0, 0xff, 0xff, 10, 77, 0, 1};
inline constexpr std::uint64_t kSecret = 0x5ec2e7'0f'0c1a'33d7;

/// Two connected QPs and three buffers: one is written, one is read, one is never accessed.
class Honest {
  public:
    static constexpr std::size_t kBytes = 16384;

    explicit Honest(const std::string& directory) : client_(directory), verbs_(client_) {
        for (std::size_t i = 0; i < secret.size(); ++i) {
            secret[i] = kSecret;
        }
        EXPECT_EQ(verbs_.get_context(), 0);
        EXPECT_EQ(verbs_.alloc_pd(), 0);
        const auto pd = verbs_.handle;
        EXPECT_EQ(verbs_.reg_mr(pd, secret.data(), sizeof secret, 0xf), 0);
        secret_key = verbs_.key;
        EXPECT_EQ(verbs_.reg_mr(pd, from_.data(), from_.size(), 0xf), 0);
        from_key_ = verbs_.key;
        EXPECT_EQ(verbs_.reg_mr(pd, to_.data(), to_.size(), 0xf), 0);
        to_key_ = verbs_.key;
        EXPECT_EQ(verbs_.create_cq(), 0);
        const auto cq = verbs_.handle;
        cqn_ = verbs_.cq_map.cqn;
        cq_ = Ring(client_, verbs_.cq_map.ring);
        std::array<std::uint32_t, 2> handles{}, numbers{};
        for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_EQ(verbs_.create_qp(pd, cq), 0);
            handles[i] = verbs_.handle;
            numbers[i] = verbs_.qpn;
            if (i == 0) {
                sq_ = Ring(client_, verbs_.qp_map.sq);
            }
        }
        qpn_ = numbers[0];
        EXPECT_EQ(verbs_.connect_qp(handles[0], numbers[1], kOwnGid, 1), 0);
        EXPECT_EQ(verbs_.connect_qp(handles[1], numbers[0], kOwnGid, 1), 0);
        EXPECT_TRUE(cq_.mapped() && sq_.mapped());
    }

    /// WRITEs new data and READs it back. Returns "" or a description of the error.
    std::string round(std::uint64_t seed) {
        for (std::size_t i = 0; i < from_.size(); ++i) {
            from_[i] = static_cast<std::byte>(seed * 131 + i * 7);
        }
        to_.assign(to_.size(), std::byte{0});
        const Bytes sent = from_;
        if (auto wrong = move(DINGO_WR_WRITE); !wrong.empty()) {
            return "WRITE: " + wrong;
        }
        if (to_ != sent) {
            return "WRITE: other bytes than were sent";
        }
        from_.assign(from_.size(), std::byte{0});
        if (auto wrong = move(DINGO_WR_READ); !wrong.empty()) {
            return "READ: " + wrong;
        }
        return from_ == sent ? "" : "READ: other bytes than there are";
    }

    std::array<std::uint64_t, 512> secret{};
    std::uint32_t secret_key = 0;

  private:
    /// Transfers between from_ and to_; the opcode determines the direction.
    std::string move(std::uint8_t opcode) {
        dingo_wqe_ctrl ctrl{};
        ctrl.opcode = opcode;
        ctrl.flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
        ctrl.blocks = ctrl.num_sge = 1;
        dingo_wqe_rdma rdma{};
        rdma.raddr = reinterpret_cast<std::uintptr_t>(to_.data());
        rdma.rkey = to_key_;
        dingo_sge sge{};
        sge.addr = reinterpret_cast<std::uintptr_t>(from_.data());
        sge.lkey = from_key_;
        sge.length = kBytes;
        std::byte* const block = sq_.entry(producer_++);
        std::memset(block, 0, 64);
        std::memcpy(block, &ctrl, sizeof ctrl);
        std::memcpy(block + 16, &rdma, sizeof rdma);
        std::memcpy(block + 32, &sge, sizeof sge);
        kick_if(sq_.ring(DINGO_DB_SQ, qpn_, producer_));
        for (int ms = 0; ms < 20'000; ++ms) {
            dingo_cqe cqe;
            std::memcpy(&cqe, cq_.entry(consumer_), sizeof cqe);
            const std::uint32_t pass = consumer_ >> cq_.map.log_size & 1U;
            if ((cqe.owner & 1U) != pass) {
                ++consumer_;
                kick_if(cq_.ring(DINGO_DB_CQ, cqn_, consumer_));
                return cqe.status == DINGO_WCS_SUCCESS ? ""
                                                       : "status " + std::to_string(cqe.status);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return "no completion in 20 s";
    }
    void kick_if(bool asked) const {
        const std::uint64_t one = 1;
        if (asked) {
            EXPECT_EQ(::write(verbs_.context.kick_fd, &one, sizeof one), 8);
        }
    }

    Client client_;
    Verbs verbs_;
    Bytes from_ = Bytes(kBytes);
    Bytes to_ = Bytes(kBytes);
    std::uint32_t from_key_ = 0;
    std::uint32_t to_key_ = 0;
    std::uint32_t cqn_ = 0;
    std::uint32_t qpn_ = 0;
    std::uint32_t producer_ = 0;
    std::uint32_t consumer_ = 0;
    Ring cq_, sq_;
};

}  // namespace dingo::uverbs::test
