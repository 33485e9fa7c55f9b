// SPDX-License-Identifier: BSD-2-Clause
#include "mac_bench.h"

#include <algorithm>

namespace dingo::rtl {

namespace {

/// Drives beat `at` of a frame on a port; bytes after the end are undefined.
template <typename Data, typename Keep, typename Bit>
void show(const Frame& frame, std::size_t at, Random& random, Data& data, Keep& keep, Bit& last) {
    std::array<std::uint32_t, 17> beat;
    put_beat(beat.data(), frame, at, false, random);
    const BeatView view(beat.data());
    std::memcpy(&data[0], beat.data(), kBeatBytes);
    keep = view.bytes == 64 ? ~0ull : (1ull << view.bytes) - 1;
    last = view.last;
}

template <typename Data>
std::size_t take(Frame& part, const Data& data, std::uint64_t keep) {
    const auto bytes = static_cast<std::size_t>(__builtin_popcountll(keep));
    const auto* from = reinterpret_cast<const std::byte*>(&data[0]);
    part.insert(part.end(), from, from + bytes);
    return bytes;
}

}  // namespace

Mac::Mac() {
    configure(1u << kPriority);
    dut.rst_ni = dut.mac_tx_up_i = dut.mac_rx_up_i = dut.mac_tx_link_i = dut.mac_rx_link_i = 1;
    run(200);
}

void Mac::configure(unsigned classes) {
    std::array<std::uint32_t, 2> cfg{};
    Fields(cfg.data()).put(48, kOurMac).put(3, kPriority).put(8, classes);
    dut.cfg_i = cfg[0] | std::uint64_t{cfg[1]} << 32;
}

void Mac::run(double ns) {
    for (const double end = now + ns; now < end;) {
        now = std::min({core_at_, tx_at_, rx_at_});
        if (now == core_at_) {
            core_cycle();
            core_at_ += periods_.core;
        } else if (now == tx_at_) {
            tx_cycle();
            tx_at_ += periods_.tx;
        } else {
            rx_cycle();
            rx_at_ += periods_.rx;
        }
    }
}

void Mac::settle() {
    for (moved_ = now; now < moved_ + 3000 || !line.empty() || !out_.empty();)
        run(500);
}

Frame Mac::numbered(std::size_t bytes) {
    Frame frame = random_bytes(random, bytes);
    frame[12] = std::byte{8};  // IPv4
    frame[13] = std::byte{0};
    std::memcpy(&frame[20], &number_, sizeof number_);
    ++number_;
    return frame;
}

void Mac::peer(unsigned frames, const std::function<Sent()>& make) {
    double begin = std::max(now, cable_free);
    for (unsigned i = 0; i < frames; ++i) {
        Sent sent = make();
        const double length = static_cast<double>(sent.frame.size()) + kOverhead;
        line.push_back({begin, std::move(sent)});
        begin += length / kRate;
    }
    cable_free = begin;
}

Frame Mac::pfc(std::uint8_t vector, const std::array<std::uint16_t, 8>& times) {
    Frame frame(60);
    const std::array<std::uint8_t, 18> head{0x01, 0x80, 0xc2, 0,    0, 1, 2, 0, 0,
                                            0,    0,    9,    0x88, 8, 1, 1, 0, vector};
    std::memcpy(frame.data(), head.data(), head.size());
    for (unsigned i = 0; i < 8; ++i)
        put_be16(frame, 18 + 2 * i, times[i]);
    return frame;
}

std::size_t Mac::missing(const std::vector<Sent>& given, const std::vector<Received>& came) {
    std::size_t next = 0;
    for (const Received& received : came) {
        while (next < given.size() && given[next].frame != received.frame)
            ++next;
        if (next == given.size()) {
            ADD_FAILURE() << "a frame of " << received.frame.size() << " bytes that nobody gave";
            return 0;
        }
        ++next;
    }
    return given.size() - came.size();
}

Frame Mac::tagged(Frame frame, unsigned pcp) {
    put_be16(frame, 12, 0x8100);
    put_be16(frame, 14, pcp << 13 | 5);
    return frame;
}

Mac::Status Mac::status() {
    Fields fields(&dut.status_o[0]);
    Status s{};
    for (std::uint32_t* count : {&s.tx_void, &s.tx_lost, &s.rx_bad, &s.rx_no_room, &s.rx_lost,
                                 &s.rx_control, &s.rx_pauses, &s.tx_pauses})
        *count = static_cast<std::uint32_t>(fields.get(32));
    s.tx_paused = fields.get(1) != 0;
    s.rx_high = fields.get(1) != 0;
    return s;
}

void Mac::core_cycle() {
    // from the card
    bool stopped = false;
    if (card_obeys && out_at == 0 && !shown_ && dut.roce_stop_o && !out_.empty() &&
        out_.front().roce) {
        const auto other =
            std::find_if(out_.begin(), out_.end(), [](const Sent& sent) { return !sent.roce; });
        stopped = other == out_.end();
        if (!stopped)
            std::rotate(out_.begin(), other, other + 1);
    }
    shown_ = !out_.empty() && dut.rst_ni && (shown_ || (!stopped && random() % 100 < card_gives));
    dut.s_tvalid_i = shown_;
    if (shown_) {
        const Sent& sent = out_.front();
        show(sent.frame, out_at, random, dut.s_tdata_i, dut.s_tkeep_i, dut.s_tlast_i);
        dut.s_tuser_i = sent.spoilt && dut.s_tlast_i;
        dut.s_tdest_i = sent.roce;
    }
    // to the card
    dut.m_tready_i = random() % 100 < card_takes;
    dut.eval();
    no_room += dut.rx_no_room_o;
    bad += dut.rx_bad_o;
    if (dut.m_tvalid_o && dut.m_tready_i) {
        moved_ = now;
        const std::size_t bytes = take(card_part, dut.m_tdata_o, dut.m_tkeep_o);
        if (dut.m_tuser_o) {
            EXPECT_TRUE(dut.m_tlast_o && !expect_whole);
            ++card_cut;
            card_part = {};
        } else if (dut.m_tlast_o) {
            card_got.push_back({std::move(card_part), now});
            card_part = {};
        } else {
            EXPECT_TRUE(bytes == kBeatBytes || nonsense);
        }
    }
    const bool taken = dut.s_tvalid_i && dut.s_tready_o;
    tick(dut.clk_i);
    if (taken) {
        moved_ = now;
        shown_ = false;
        if (++out_at == beats_of(out_.front().frame.size())) {
            if (!out_.front().spoilt)
                card_gave.push_back(out_.front());
            out_.pop_front();
            out_at = 0;
        }
    }
}

void Mac::tx_cycle() {
    owed_ = std::max(owed_ - periods_.tx * kRate, 0.0);  // bytes in the MAC
    dut.mac_tready_i = random() % 100 < mac_takes && (!mac_at_cable_rate || owed_ < 256);
    dut.eval();
    gaps += !mac_part.empty() && !dut.mac_tvalid_o;
    if (dut.mac_tvalid_o && dut.mac_tready_i && dut.mac_tx_up_i) {
        moved_ = now;
        const std::size_t bytes = take(mac_part, dut.mac_tdata_o, dut.mac_tkeep_o);
        owed_ += static_cast<double>(bytes) + (dut.mac_tlast_o ? kOverhead : 0);
        if (dut.mac_tuser_o) {
            EXPECT_TRUE(dut.mac_tlast_o && !expect_whole);
            ++mac_cut;
            mac_part = {};
        } else if (dut.mac_tlast_o) {
            mac_got.push_back({std::move(mac_part), now});
            mac_part = {};
        } else {
            EXPECT_TRUE(bytes == kBeatBytes || nonsense);
        }
    }
    tick(dut.mac_tx_clk_i);
}

void Mac::rx_cycle() {
    dut.mac_rvalid_i = !line.empty() && line.front().begin <= now && dut.mac_rx_up_i;
    if (dut.mac_rvalid_i) {
        moved_ = now;
        const Sent& sent = line.front().sent;
        show(sent.frame, in_at, random, dut.mac_rdata_i, dut.mac_rkeep_i, dut.mac_rlast_i);
        dut.mac_ruser_i = sent.spoilt && dut.mac_rlast_i;
        if (++in_at == beats_of(sent.frame.size())) {
            if (!sent.spoilt)
                peer_gave.push_back(sent);
            line.pop_front();
            in_at = 0;
        }
    }
    tick(dut.mac_rx_clk_i);
}

}  // namespace dingo::rtl
