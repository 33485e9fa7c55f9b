// SPDX-License-Identifier: BSD-2-Clause
#include "differential.h"

#include <algorithm>
#include <map>
#include <random>
#include <string_view>

#include "dingo/packet/parse.h"
#include "faults.h"
#include "pair.h"
#ifdef DINGO_WITH_RTL
#include "dingo/rtl.h"
#endif

namespace dingo::conformance {
namespace {

// Each operation has its own memory, so that no two of a batch touch the same byte.
constexpr std::uint64_t kSlot = 16384;
constexpr unsigned kSlots = 16;                    // operations of a card per batch
constexpr std::uint64_t kLocal = 0;                // source of requests, destination of READs
constexpr std::uint64_t kRemote = kSlots * kSlot;  // accessed by the peer's requests
constexpr std::uint64_t kReceive = 2 * kRemote;    // receives of the peer's messages
constexpr std::uint64_t kBytes = 3 * kRemote;

#define COUNTER_NAME(index, name) std::string_view(name),
constexpr std::array kNames = {DINGO_FOR_EACH_CARD_COUNTER(COUNTER_NAME)};
#undef COUNTER_NAME

std::uint64_t hash(std::span<const std::byte> bytes) {
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Requests and READ responses without what depends on the time of acknowledgements: the ACK
/// request bit and the AETH. Only the first packet with each PSN counts.
class PacketLog {
  public:
    explicit PacketLog(test::TwoCards& cards) {
        cards.link.tap = [this](const test::Frame& frame) { add(frame); };
    }
    void take(std::vector<std::string>& lines) {
        for (auto& [key, text] : packets_)
            lines.push_back(std::move(text));
        packets_.clear();
    }

  private:
    void add(const test::Frame& frame) {
        packet::Packet p;
        if (packet::parse(frame.bytes, p) != packet::ParseResult::kRoce) {
            packets_[{frame.from, 2, 0}] = "not RoCE";
            return;
        }
        if (!p.op().is_request() && !p.op().is_read_response())
            return;
        std::string text =
            "packet from " + std::to_string(frame.from) + " psn " + std::to_string(p.bth.psn) +
            " " + std::string(p.op().name) + (p.bth.solicited ? " solicited" : "") + " qp " +
            std::to_string(p.bth.dest_qp) + " va " + std::to_string(p.reth.va) + " key " +
            std::to_string(p.reth.rkey) + " length " + std::to_string(p.reth.length) + " imm " +
            std::to_string(p.imm) + " bytes " + std::to_string(p.payload.size()) + " of " +
            std::to_string(hash(p.payload));
        packets_.try_emplace({frame.from, p.op().is_request() ? 0U : 1U, p.bth.psn},
                             std::move(text));
    }

    std::map<std::tuple<unsigned, unsigned, std::uint32_t>, std::string> packets_;
};

class Differential {
  public:
    Differential(const std::string& engine, const DifferentialOptions& options)
        : options_(options),
          random_(options.seed),
          pair_(engine, pair_options()),
          log_(pair_.cards) {
        for (unsigned card = 0; card < 2; ++card) {
            pair_.fill(card, 0, kBytes, options.seed * 2 + card);
#ifdef DINGO_WITH_RTL
            if (engine == "rtl" && options.stalls != 0)
                rtl::set_stalls(*pair_.cards.card(card).engine, options.stalls,
                                options.seed * 2 + card);
#endif
        }
    }

    Outcome run() {
        std::optional<WireFaults> faults;
        if (options_.loss) {
            faults.emplace(pair_.cards);
            faults->add_random({.drop = 0.02,
                                .duplicate = 0.02,
                                .reorder = 0.02,
                                .corrupt = 0.01,
                                .seed = options_.seed});
        }
        for (unsigned i = 0; i < options_.batches; ++i)
            batch(options_.mistake && i + 1 == options_.batches);
        finish();
        return std::move(outcome_);
    }

  private:
    PairOptions pair_options() {
        PairOptions o;
        o.bytes = kBytes;
        // Enough retries never to run out, as the number left depends on timing.
        o.mtu(static_cast<std::uint8_t>(1 + random_() % 5)).timeout(10, 7);
        o.connect.qp.log_sq = 8;
        o.connect.log_cq = 10;
        o.connect.gid_index = random_() % 2;
        o.connect.path.max_rd_atomic = static_cast<std::uint8_t>(1 + random_() % 16);
        o.connect.start_psn = {static_cast<std::uint32_t>(random_() & 0xffffff),
                               static_cast<std::uint32_t>(random_() & 0xffffff)};
        o.connect.created = [this](unsigned, test::TestDriver& driver, const test::TestQp& qp) {
            if (options_.compute)
                choose_kernel(driver, qp, DINGO_COMPUTE_SEND);
            if (options_.receive_compute)
                choose_kernel(driver, qp, DINGO_COMPUTE_RECEIVE);
        };
        return o;
    }

    void choose_kernel(test::TestDriver& driver, const test::TestQp& qp, std::uint32_t direction) {
        const std::uint32_t kernel = random_() % 3;
        const auto param = static_cast<std::uint32_t>(random_() >> random_() % 31) | 1;
        const dingo_admin_cpl answer =
            driver.set_compute(qp.qpn, kernel, kernel == DINGO_KERNEL_DLRM ? param : 0, direction);
        if (answer.status != DINGO_ST_OK)
            throw test::AdminError(DINGO_OP_SET_COMPUTE, answer);
    }

    std::uint32_t length() {
        switch (random_() % 4) {
            case 0:
                return static_cast<std::uint32_t>(random_() % (kSlot - 64));
            case 1:
                return static_cast<std::uint32_t>(random_() % 5);
            default:
                return static_cast<std::uint32_t>(random_() % 1500);
        }
    }

    test::SendWr request(unsigned card, unsigned slot) {
        constexpr std::array<std::uint8_t, 5> kOpcodes = {
            DINGO_WR_SEND, DINGO_WR_SEND_IMM, DINGO_WR_WRITE, DINGO_WR_WRITE_IMM, DINGO_WR_READ};
        const std::uint64_t from = kLocal + slot * kSlot;
        const std::uint32_t bytes = length();
        test::SendWr wr;
        wr.opcode = kOpcodes[random_() % kOpcodes.size()];
        if (wr.opcode == DINGO_WR_SEND_IMM || wr.opcode == DINGO_WR_WRITE_IMM)
            wr.imm = static_cast<std::uint32_t>(random_());
        if (wr.opcode != DINGO_WR_SEND && wr.opcode != DINGO_WR_SEND_IMM) {
            wr.raddr = pair_.mr[1 - card].iova + kRemote + slot * kSlot + random_() % 64;
            wr.rkey = pair_.mr[1 - card].key;
        }
        wr.flags = random_() % 3 == 0 ? 0 : kSignaled;
        if (random_() % 5 == 0)
            wr.flags |= DINGO_WQE_CTRL_FLAGS_FENCE_MASK;
        if (random_() % 4 == 0)
            wr.flags |= DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK;
        if (wr.opcode != DINGO_WR_READ && random_() % 4 == 0) {
            wr.inline_data.resize(bytes % DINGO_MAX_INLINE);
            wr.force_inline = true;
            random_bytes(wr.inline_data, random_());
            return wr;
        }
        std::uint32_t done = 0;
        for (unsigned pieces = 1 + random_() % 4; pieces > 0; --pieces) {
            const auto piece = pieces == 1
                                   ? bytes - done
                                   : static_cast<std::uint32_t>(random_() % (bytes - done + 1));
            wr.sges.push_back(pair_.mr[card].sge(from + done, piece));
            done += piece;
        }
        return wr;
    }

    /// Makes the request invalid in one way, or the receive that it would use too short.
    void spoil(test::SendWr& wr, unsigned card) {
        const bool remote = wr.rkey != 0;
        switch (random_() % 4) {
            case 0:
                if (remote)
                    wr.rkey ^= 1U << (random_() % 32);
                else if (!wr.sges.empty())
                    wr.sges[0].lkey ^= 1U << (random_() % 32);
                break;
            case 1:
                if (remote)
                    wr.raddr = pair_.mr[1 - card].iova + kBytes - random_() % 4;
                break;
            case 2:
                if (!wr.sges.empty())
                    wr.sges.back().addr = pair_.mr[card].iova + kBytes - random_() % 4;
                break;
            default:
                wr.opcode = 0x77;
                break;
        }
    }

    static bool takes_receive(const test::SendWr& wr) {
        return wr.opcode == DINGO_WR_SEND || wr.opcode == DINGO_WR_SEND_IMM ||
               wr.opcode == DINGO_WR_WRITE_IMM;
    }

    void batch(bool mistake) {
        std::array<std::vector<test::SendWr>, 2> work;
        const unsigned only = random_() % 2;
        for (unsigned card = 0; card < 2; ++card) {
            if ((mistake || random_() % 3 == 0) && card != only)
                continue;
            const unsigned count = 1 + random_() % kSlots;
            for (unsigned slot = 0; slot < count; ++slot)
                work[card].push_back(request(card, slot));
        }
        if (mistake)
            spoil(work[only][random_() % work[only].size()], only);
        for (unsigned card = 0; card < 2; ++card) {
            unsigned slot = 0;
            for (const test::SendWr& wr : work[card])
                if (takes_receive(wr)) {
                    const dingo_sge sge = pair_.mr[1 - card].sge(kReceive + slot * kSlot,
                                                                 static_cast<std::uint32_t>(kSlot));
                    pair_.driver(1 - card).post_recv(pair_.qp(1 - card), 100 + slot++, {sge});
                }
        }
        for (unsigned slot = 0; slot < kSlots; ++slot)
            for (unsigned card = 0; card < 2; ++card)
                if (slot < work[card].size())
                    pair_.driver(card).post_send(pair_.qp(card), work[card][slot]);
        pair_.cards.settle(20'000'000'000);
        collect();
        if (!options_.loss && !mistake)
            log_.take(outcome_.lines);
    }

    void collect() {
        for (unsigned card = 0; card < 2; ++card) {
            std::array<std::vector<std::string>, 2> queues;
            while (const auto cqe = pair_.driver(card).poll_cq(pair_.cq(card))) {
                const unsigned op = test::cqe_opcode(*cqe);
                const bool receive = op >= DINGO_WC_RECV;
                std::string text =
                    "completion of " + std::to_string(card) + (receive ? " receive " : " send ") +
                    std::to_string(op) + " " + test::status_name(cqe->status) + " vendor " +
                    std::to_string(cqe->vendor_err) + " index " + std::to_string(cqe->wqe_index);
                if (cqe->status == DINGO_WCS_SUCCESS)
                    text += " length " + std::to_string(cqe->byte_len) + " imm " +
                            std::to_string(cqe->imm) + " flags " + std::to_string(cqe->flags);
                queues[receive ? 1 : 0].push_back(text);
            }
            for (const auto& queue : queues)
                outcome_.lines.insert(outcome_.lines.end(), queue.begin(), queue.end());
            while (const std::uint8_t kind = pair_.event(card))
                outcome_.lines.push_back("event of " + std::to_string(card) + " " +
                                         std::to_string(kind));
            const dingo_qp_info info = pair_.driver(card).query_qp(pair_.qp(card).qpn);
            outcome_.lines.push_back(
                "queue pair of " + std::to_string(card) + " state " + std::to_string(info.state) +
                " sent " + std::to_string(info.sq_consumer) + " received " +
                std::to_string(info.rq_consumer) + " msn " + std::to_string(info.msn));
        }
    }

    void finish() {
        for (unsigned card = 0; card < 2; ++card) {
            outcome_.memory[card] = hash(pair_.bytes(card, 0, kBytes));
            if (options_.loss)
                continue;
            const auto stats = pair_.driver(card).card_stats();
            for (std::size_t i = 0; i < stats.size(); ++i)
                if (!depends_on_time(kNames[i]))
                    outcome_.lines.push_back("counter of " + std::to_string(card) + " " +
                                             std::string(kNames[i]) + " " +
                                             std::to_string(stats[i]));
        }
    }

    /// How often an engine acknowledges is up to the engine.
    static bool depends_on_time(std::string_view name) {
        constexpr std::array<std::string_view, 4> kFree = {"rdma_tx_packets", "rdma_tx_bytes",
                                                           "rdma_rx_packets", "rdma_rx_bytes"};
        return std::ranges::find(kFree, name) != kFree.end();
    }

    DifferentialOptions options_;
    std::mt19937_64 random_;
    Pair pair_;
    PacketLog log_;
    Outcome outcome_;
};

}  // namespace

Outcome run_differential(const std::string& engine, const DifferentialOptions& options) {
    return Differential(engine, options).run();
}

std::string difference(const Outcome& a, const Outcome& b) {
    for (std::size_t i = 0; i < std::max(a.lines.size(), b.lines.size()); ++i) {
        const std::string left = i < a.lines.size() ? a.lines[i] : "nothing";
        const std::string right = i < b.lines.size() ? b.lines[i] : "nothing";
        if (left != right) {
            std::string text = "line " + std::to_string(i) + ": ";
            text += left;
            text += " | ";
            text += right;
            return text;
        }
    }
    return a.memory == b.memory ? "" : "the memory differs";
}

}  // namespace dingo::conformance
