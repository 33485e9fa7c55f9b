// SPDX-License-Identifier: BSD-2-Clause
// A client that maps its queues and doorbell pages properly and then writes garbage to them:
// hostile_rings DIR SEED COUNT VICTIM_ADDRESS VICTIM_RKEY SECRET. It tries to access memory of
// another client whose address and key it knows.
// Exit status: 0 success; 1 the card does not answer; 2 usage; 3 the card granted access that it
// must not grant; 4 memory of the victim was read.
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "rings.h"
#include "verbs.h"

namespace dingo::uverbs::test {
namespace {

constexpr std::array<std::uint8_t, 16> kOwnGid{0, 0, 0,    0,    0,  0,  0, 0,
                                               0, 0, 0xff, 0xff, 10, 77, 0, 1};

struct Victim {
    std::uint64_t address;
    std::uint32_t rkey;
    std::uint64_t secret;
};

enum class End { kWell, kNoAnswer, kTooMuch, kRead };

/// One connection with queues of every kind.
class Life {
  public:
    Life(const std::string& directory, std::mt19937_64& random, Bytes& memory, const Victim& victim)
        : client_(directory), verbs_(client_), random_(random), memory_(memory), victim_(victim) {}

    End run(int deeds) {
        if (!client_.connected() || !set_up()) {
            return End::kNoAnswer;
        }
        for (int i = 0; i < deeds; ++i) {
            one();
            // The answer shows that the card is alive, and gives it time to read the rings.
            if (i % 64 == 63 && !served()) {
                return End::kNoAnswer;
            }
        }
        if (holds_too_much()) {
            return End::kTooMuch;
        }
        std::uint64_t word = 0;
        for (std::size_t i = 0; i + sizeof word <= memory_.size(); i += sizeof word) {
            std::memcpy(&word, memory_.data() + i, sizeof word);
            if (word == victim_.secret) {
                return End::kRead;
            }
        }
        return End::kWell;
    }

  private:
    struct Queues {
        std::uint32_t handle = 0;
        std::uint32_t qpn = 0;
        std::uint32_t sends = 0;
        std::uint32_t receives = 0;
        Ring sq, rq;
    };

    std::uint64_t pick(std::uint64_t n) { return random_() % n; }
    bool chance(unsigned percent) { return pick(100) < percent; }

    bool set_up() {
        if (verbs_.get_context() != 0 || verbs_.alloc_pd() != 0) {
            return false;
        }
        pd_ = verbs_.handle;
        if (verbs_.reg_mr(pd_, memory_.data(), memory_.size(), 0xf) != 0) {
            return false;
        }
        key_ = verbs_.key;
        if (verbs_.create_cq(-1, 1, chance(50) ? 8 : 200) != 0) {
            return false;
        }
        const std::uint32_t cq = verbs_.handle;
        cqn_ = verbs_.cq_map.cqn;
        cq_ = Ring(client_, verbs_.cq_map.ring);
        if (verbs_.create_srq(pd_) != 0) {
            return false;
        }
        const auto srq = static_cast<int>(verbs_.handle);
        srqn_ = verbs_.srq_map.srqn;
        srq_ = Ring(client_, verbs_.srq_map.ring);
        for (std::size_t i = 0; i < qps_.size(); ++i) {
            Queues& q = qps_[i];
            if (verbs_.create_qp(pd_, cq, i == 2 ? srq : -1, kTypes[i]) != 0) {
                return false;
            }
            q.handle = verbs_.handle;
            q.qpn = verbs_.qpn;
            q.sq = Ring(client_, verbs_.qp_map.sq);
            if (i != 2) {
                q.rq = Ring(client_, verbs_.qp_map.rq);
            }
            if (!q.sq.mapped() || (i != 2 && !q.rq.mapped())) {
                return false;
            }
        }
        if (!cq_.mapped() || !srq_.mapped()) {
            return false;
        }
        connect();
        return true;
    }
    /// RC twice, RC with an SRQ, UC, UD.
    static constexpr std::array<std::uint64_t, 5> kTypes{2, 2, 2, 3, 4};

    /// Connects the QPs as far as their states allow; failures are ignored.
    void connect() {
        constexpr std::array<std::size_t, 5> kPeer{1, 0, 0, 3, 4};
        for (std::size_t i = 0; i < kPeer.size(); ++i) {
            const auto cmd = Verbs::zeroed<ib_uverbs_modify_qp>();
            verbs_.modify_qp(cmd, qps_[i].handle, 0, 0);
            verbs_.connect_qp(qps_[i].handle, qps_[kPeer[i]].qpn, kOwnGid, 1, kTypes[i]);
            qps_[i].sends = qps_[i].receives = 0;
        }
    }

    void one() {
        const std::uint64_t what = pick(100);
        if (what < 40) {
            post_send();
        } else if (what < 50) {
            post_receive();
        } else if (what < 65) {
            scribble();
        } else if (what < 85) {
            scribble_doorbells();
        } else if (what < 90) {
            arm_or_consume();
        } else if (what < 96) {
            kick();
        } else if (what < 99) {
            auto cmd = Verbs::zeroed<ib_uverbs_modify_qp>();
            verbs_.modify_qp(cmd, qps_[pick(qps_.size())].handle,
                             static_cast<std::uint8_t>(chance(50) ? 6 : pick(7)), 0);
        } else {
            connect();
        }
    }

    std::uint64_t address() {
        const auto mine = reinterpret_cast<std::uintptr_t>(memory_.data());
        switch (pick(6)) {
            case 0:
                return random_();
            case 1:
                return mine + memory_.size() - pick(64);
            case 2:
            case 3:
                return victim_.address + pick(4096);
            default:
                return mine + pick(memory_.size());
        }
    }
    std::uint32_t key() {
        switch (pick(8)) {
            case 0:
                return static_cast<std::uint32_t>(random_());
            case 1:
                return key_ ^ (1U << pick(32));
            case 2:
            case 3:
            case 4:
                return victim_.rkey;
            default:
                return key_;
        }
    }
    std::uint32_t length() {
        constexpr std::array<std::uint32_t, 8> kLengths{0, 1, 8, 64, 1024, 4096, 65536, 1U << 31};
        return chance(90) ? kLengths[pick(kLengths.size())] : static_cast<std::uint32_t>(random_());
    }
    dingo_sge segment() {
        dingo_sge sge{};
        sge.addr = address();
        sge.lkey = key();
        sge.length = length();
        return sge;
    }

    void post_send() {
        Queues& q = qps_[pick(qps_.size())];
        const auto blocks = static_cast<std::uint32_t>(1 + pick(3));
        std::array<std::byte, 64> block{};
        dingo_wqe_ctrl ctrl{};
        ctrl.opcode = static_cast<std::uint8_t>(chance(95) ? pick(12) : random_());
        ctrl.flags = static_cast<std::uint8_t>(chance(90) ? pick(8) : random_());
        ctrl.blocks = static_cast<std::uint8_t>(chance(95) ? blocks : random_());
        ctrl.num_sge =
            static_cast<std::uint8_t>(chance(95) ? pick(blocks == 1 ? 3 : 6) : random_());
        ctrl.imm = static_cast<std::uint32_t>(chance(50) ? key_ : random_());
        ctrl.inline_len = static_cast<std::uint16_t>(chance(80) ? 0 : random_());
        dingo_wqe_rdma rdma{};
        rdma.raddr = address();
        rdma.rkey = key();
        std::memcpy(block.data(), &ctrl, sizeof ctrl);
        std::memcpy(block.data() + 16, &rdma, sizeof rdma);
        const dingo_sge a = segment();
        const dingo_sge b = segment();
        std::memcpy(block.data() + 32, &a, sizeof a);
        std::memcpy(block.data() + 48, &b, sizeof b);
        std::memcpy(q.sq.entry(q.sends), block.data(), block.size());
        for (std::uint32_t i = 1; i < blocks; ++i) {
            for (std::size_t at = 0; at < 64; at += sizeof(dingo_sge)) {
                const dingo_sge more = segment();
                std::memcpy(q.sq.entry(q.sends + i) + at, &more, sizeof more);
            }
        }
        q.sends += blocks;
        if (chance(70)) {
            wake(q.sq.ring(DINGO_DB_SQ, q.qpn, q.sends));
        }
    }
    void post_receive() {
        const std::uint64_t which = pick(qps_.size());
        const bool shared = which == 2;
        Queues& q = qps_[which];
        const Ring& ring = shared ? srq_ : q.rq;
        std::uint32_t& producer = shared ? srq_receives_ : q.receives;
        dingo_rq_wqe wqe{};
        wqe.tag = static_cast<std::uint32_t>(random_());
        wqe.num_sge = static_cast<std::uint16_t>(chance(95) ? pick(4) : random_());
        std::byte* const at = ring.entry(producer);
        std::memcpy(at, &wqe, sizeof wqe);
        for (std::size_t i = 1; i < 4; ++i) {
            const dingo_sge sge = segment();
            std::memcpy(at + i * sizeof sge, &sge, sizeof sge);
        }
        ++producer;
        wake(shared ? ring.ring(DINGO_DB_SRQ, srqn_, producer)
                    : ring.ring(DINGO_DB_RQ, q.qpn, producer));
    }
    const Ring& any_ring() {
        switch (pick(4)) {
            case 0:
                return cq_;
            case 1:
                return srq_;
            default:
                break;
        }
        Queues& q = qps_[pick(qps_.size())];
        return q.rq.mapped() && chance(50) ? q.rq : q.sq;
    }
    void scribble() {
        const auto bytes = any_ring().memory.bytes();
        std::size_t at = pick(bytes.size());
        for (std::uint64_t n = 1 + pick(256); n > 0 && at < bytes.size(); --n, ++at) {
            bytes[at] = static_cast<std::byte>(random_());
        }
    }
    /// Writes to its own slots and unused ones, dirty bytes, need_kick.
    void scribble_doorbells() {
        const Ring& ring = any_ring();
        const auto page = ring.page.bytes();
        switch (pick(4)) {
            case 0: {
                const auto value = static_cast<std::uint32_t>(chance(50) ? pick(2) : random_());
                std::memcpy(page.data() + DINGO_DB_NEED_KICK_OFFSET, &value, sizeof value);
                break;
            }
            case 1:
                page[DINGO_DB_DIRTY_OFFSET + pick(64)] = static_cast<std::byte>(random_());
                break;
            case 2:
                wake(ring.store(static_cast<std::uint32_t>(pick(DINGO_DB_SLOTS)), random_()));
                break;
            default: {
                const auto number =
                    static_cast<std::uint32_t>(chance(40)   ? qps_[pick(qps_.size())].qpn
                                               : chance(50) ? cqn_
                                                            : pick(1U << 24));
                const std::uint64_t value =
                    random_() << 32 | pick(4) << 29 | pick(9) << 24 | number;
                wake(ring.store(chance(70) ? ring.map.db_slot
                                           : static_cast<std::uint32_t>(pick(DINGO_DB_SLOTS)),
                                value));
            }
        }
    }
    void arm_or_consume() {
        const auto consumer = static_cast<std::uint32_t>(chance(80) ? pick(64) : random_());
        wake(cq_.ring(DINGO_DB_CQ, cqn_, consumer, static_cast<std::uint32_t>(pick(8)) << 28));
    }
    void wake(bool asked) {
        if (asked || chance(5)) {
            kick();
        }
    }
    void kick() const {
        const std::uint64_t one = 1;
        if (::write(verbs_.context.kick_fd, &one, sizeof one) < 0) {
            return;  // the eventfd is full: the card was kicked
        }
    }
    bool served() { return verbs_.alloc_pd() == 0 && verbs_.destroy_pd(verbs_.handle) == 0; }

    /// Returns true if the client could remove pages that the card uses, or tell others that the
    /// card is gone.
    bool holds_too_much() {
        for (const Mapping* m : {&cq_.memory, &srq_.memory, &cq_.page, &qps_[0].sq.memory}) {
            if (::ftruncate(m->file(), 0) == 0 ||
                ::fallocate(m->file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0) {
                // Zeros in its own queue are no worse than garbage; a shorter file is.
                struct stat st {};
                if (::fstat(m->file(), &st) != 0 ||
                    static_cast<std::size_t>(st.st_size) < m->bytes().size()) {
                    return true;
                }
            }
        }
        const Mapping status(client_, verbs_.context.status_mmap, 4096);
        return !status.bytes().empty() || ::ftruncate(status.file(), 0) == 0;
    }

    Client client_;
    Verbs verbs_;
    std::mt19937_64& random_;
    Bytes& memory_;
    const Victim& victim_;
    std::uint32_t pd_ = 0;
    std::uint32_t key_ = 0;
    std::uint32_t cqn_ = 0;
    std::uint32_t srqn_ = 0;
    std::uint32_t srq_receives_ = 0;
    Ring cq_, srq_;
    std::array<Queues, 5> qps_;
};

}  // namespace
}  // namespace dingo::uverbs::test

int main(int argc, char** argv) {
    using namespace dingo::uverbs::test;
    if (argc != 7) {
        std::fprintf(stderr, "hostile_rings DIR SEED COUNT VICTIM_ADDRESS VICTIM_RKEY SECRET\n");
        return 2;
    }
    ::signal(SIGPIPE, SIG_IGN);
    std::mt19937_64 random(std::strtoull(argv[2], nullptr, 0));
    const Victim victim{std::strtoull(argv[4], nullptr, 0),
                        static_cast<std::uint32_t>(std::strtoul(argv[5], nullptr, 0)),
                        std::strtoull(argv[6], nullptr, 0)};
    Bytes memory(1 << 17);
    constexpr int kDeeds = 1000;  // per connection
    for (int left = std::atoi(argv[3]); left > 0; left -= kDeeds) {
        Life life(argv[1], random, memory, victim);
        if (const End end = life.run(std::min(left, kDeeds)); end != End::kWell) {
            std::fprintf(stderr, "%s\n",
                         end == End::kNoAnswer ? "the card does not answer as it must"
                         : end == End::kRead   ? "it has read what is not its own"
                                               : "it may change what is the card's");
            return end == End::kNoAnswer ? 1 : end == End::kTooMuch ? 3 : 4;
        }
    }
    return 0;
}
