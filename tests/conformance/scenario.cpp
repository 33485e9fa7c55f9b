// SPDX-License-Identifier: BSD-2-Clause
#include "scenario.h"

#include <array>

#include "faults.h"
#include "pair.h"

namespace dingo::conformance {
namespace {

constexpr std::uint64_t kArea = 1u << 19;

#define COUNTER_NAME(index, name) name,
constexpr std::array kNames = {DINGO_FOR_EACH_CARD_COUNTER(COUNTER_NAME)};
#undef COUNTER_NAME

class Scenario {
  public:
    Scenario(const std::string& engine, const ScenarioOptions& options)
        : options_(options),
          random_(options.seed),
          pair_(engine, pair_options()),
          log_(pair_.cards),
          faults_(pair_.cards) {
        for (unsigned card = 0; card < 2; ++card) {
            pair_.cards.host(card).pointers = options.pointers;
            pair_.fill(card, 0, 2 * kArea, options.seed + card);
        }
        if (options.faults)
            faults_.add_random({.drop = chance() * 0.05,
                                .duplicate = chance() * 0.05,
                                .reorder = chance() * 0.05,
                                .corrupt = chance() * 0.05,
                                .seed = random_()});
    }

    Trace run() {
        for (unsigned i = 0; i < options_.operations; ++i) {
            act();
            if (random_() % 3 == 0)
                pair_.cards.run_for(random_() % 100'000);
            collect();
        }
        pair_.cards.settle(200'000'000'000);
        collect();
        return finish();
    }

  private:
    double chance() { return static_cast<double>(random_() % 1000) / 1000; }

    PairOptions pair_options() {
        PairOptions o;
        o.bytes = 2 * kArea;
        o.mtu(static_cast<std::uint8_t>(1 + random_() % 5)).timeout(8, 7);
        o.connect.qp.log_sq = 8;
        o.connect.log_cq = 10;
        o.connect.gid_index = random_() % 2;
        o.connect.path.max_rd_atomic = static_cast<std::uint8_t>(1 + random_() % 16);
        o.connect.path.min_rnr_timer = static_cast<std::uint8_t>(1 + random_() % 14);
        // Finite: after a mistake the missing receive may never be posted.
        o.connect.path.rnr_retry = options_.mistakes ? static_cast<std::uint8_t>(random_() % 7) : 7;
        if (options_.random_psns)
            o.connect.start_psn = {static_cast<std::uint32_t>(random_() & 0xffffff),
                                   static_cast<std::uint32_t>(random_() & 0xffffff)};
        return o;
    }

    void act() {
        const unsigned card = random_() % 2;
        test::TestDriver& driver = pair_.driver(card);
        test::TestQp& qp = pair_.qp(card);
        const std::uint64_t local = random_() % kArea;
        const auto length =
            static_cast<std::uint32_t>(random_() % 4 == 0 ? random_() % 60'000 : random_() % 700);
        // The peer has a receive for every message, unless mistakes are enabled.
        const unsigned peer = 1 - card;
        if ((random_() % 3 == 0 || !options_.mistakes) && room_for_receives(peer)) {
            const dingo_sge sge = pair_.mr[peer].sge(kArea + random_() % 1000, 60'000);
            pair_.driver(peer).post_recv(pair_.qp(peer), next_tag_++, {sge});
        }
        if (!room_for_sends(card))
            return;
        constexpr std::array<std::uint8_t, 8> kOpcodes = {
            DINGO_WR_SEND, DINGO_WR_SEND_IMM, DINGO_WR_WRITE,    DINGO_WR_WRITE_IMM,
            DINGO_WR_READ, DINGO_WR_READ,     DINGO_WR_CMP_SWAP, DINGO_WR_FETCH_ADD};
        test::SendWr wr;
        wr.opcode = kOpcodes[random_() % (atomics_ ? kOpcodes.size() : kOpcodes.size() - 2)];
        const bool atomic = wr.opcode == DINGO_WR_CMP_SWAP || wr.opcode == DINGO_WR_FETCH_ADD;
        const bool send = wr.opcode == DINGO_WR_SEND || wr.opcode == DINGO_WR_SEND_IMM;
        if (!send) {
            wr.raddr = pair_.mr[1 - card].iova + (atomic ? local / 8 * 8 : local);
            wr.rkey = pair_.mr[1 - card].key;
        }
        if (wr.opcode == DINGO_WR_SEND_IMM || wr.opcode == DINGO_WR_WRITE_IMM)
            wr.imm = static_cast<std::uint32_t>(random_());
        wr.swap_add = random_();
        wr.compare = random_();
        if (random_() % 4 != 0)
            wr.flags = 0;
        if (random_() % 5 == 0)
            wr.flags |= DINGO_WQE_CTRL_FLAGS_FENCE_MASK;
        wr.flags |= random_() % 8 == 0 ? DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK : 0;
        if (atomic) {
            wr.sges = {pair_.mr[card].sge(local / 8 * 8, 8)};
        } else if (random_() % 5 == 0 && wr.opcode != DINGO_WR_READ) {
            wr.inline_data.resize(length % DINGO_MAX_INLINE);
            wr.force_inline = true;
            random_bytes(wr.inline_data, random_());
        } else {
            const std::uint32_t half = length / 2;
            wr.sges = {pair_.mr[card].sge(local, half),
                       pair_.mr[card].sge(random_() % kArea, length - half)};
        }
        if (options_.mistakes && !send && random_() % 150 == 0)
            wr.rkey ^= 1u << (random_() % 32);
        driver.post_send(qp, wr);
    }

    bool room_for_sends(unsigned card) {
        const dingo_qp_info info = pair_.driver(card).query_qp(pair_.qp(card).qpn);
        return pair_.qp(card).sq_producer - info.sq_consumer + DINGO_SQ_MAX_BLOCKS <= 256;
    }
    bool room_for_receives(unsigned card) {
        const dingo_qp_info info = pair_.driver(card).query_qp(pair_.qp(card).qpn);
        return pair_.qp(card).rq_producer - info.rq_consumer < 60;
    }

    void collect() {
        for (unsigned card = 0; card < 2; ++card) {
            while (const auto cqe = pair_.driver(card).poll_cq(pair_.cq(card))) {
                std::string text = std::to_string(card) + " op " +
                                   std::to_string(test::cqe_opcode(*cqe)) + " status " +
                                   std::to_string(cqe->status) + " index " +
                                   std::to_string(cqe->wqe_index);
                if (cqe->status == DINGO_WCS_SUCCESS)
                    text += " len " + std::to_string(cqe->byte_len) + " imm " +
                            std::to_string(cqe->imm) + " flags " + std::to_string(cqe->flags);
                trace_.completions.push_back(text);
            }
            test::TestDriver& driver = pair_.driver(card);
            while (const auto event = driver.poll_eq(driver.async_eq)) {
                trace_.events.push_back(std::to_string(card) + " " + std::to_string(event->kind) +
                                        " id " + std::to_string(event->id));
                driver.ring_eq(driver.async_eq);
            }
        }
    }

    Trace finish() {
        trace_.frames = log_.lines();
        for (unsigned card = 0; card < 2; ++card) {
            const auto stats = pair_.driver(card).card_stats();
            for (std::size_t i = 0; i < stats.size(); ++i)
                trace_.counters.push_back(std::to_string(card) + " " + kNames[i] + " " +
                                          std::to_string(stats[i]));
            std::uint64_t hash = 14695981039346656037u;  // FNV-1a
            for (std::byte b : pair_.bytes(card, 0, 2 * kArea))
                hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 1099511628211u;
            trace_.memory ^= hash + card;
        }
        return std::move(trace_);
    }

    ScenarioOptions options_;
    std::mt19937_64 random_;
    Pair pair_;
    FrameLog log_;
    WireFaults faults_;
    std::uint32_t next_tag_ = 1;
    const bool atomics_ = (pair_.driver(0).read64(DINGO_REG_CAPS) & DINGO_CAP_ATOMIC) != 0;
    Trace trace_;
};

std::string first_difference(const char* what, const std::vector<std::string>& a,
                             const std::vector<std::string>& b) {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
        const std::string left = i < a.size() ? a[i] : "nothing";
        const std::string right = i < b.size() ? b[i] : "nothing";
        if (left != right) {
            std::string text = what;
            text += " " + std::to_string(i) + ": " + left + " | ";
            text += right;
            return text;
        }
    }
    return {};
}

}  // namespace

Trace run_scenario(const std::string& engine, const ScenarioOptions& options) {
    return Scenario(engine, options).run();
}

std::string difference(const Trace& a, const Trace& b) {
    for (const auto& [what, left, right] :
         {std::tuple{"frame", &a.frames, &b.frames},
          std::tuple{"completion", &a.completions, &b.completions},
          std::tuple{"event", &a.events, &b.events},
          std::tuple{"counter", &a.counters, &b.counters}})
        if (std::string text = first_difference(what, *left, *right); !text.empty())
            return text;
    return a.memory == b.memory ? "" : "the memory differs";
}

}  // namespace dingo::conformance
