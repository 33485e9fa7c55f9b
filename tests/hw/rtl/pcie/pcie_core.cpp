// SPDX-License-Identifier: BSD-2-Clause
#include "pcie_core.h"

#include <algorithm>
#include <bit>

namespace dingo::rtl {

namespace {
// `width` bits from bit `low` on.
std::uint64_t bits(const std::vector<std::uint32_t>& words, unsigned low, unsigned width) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i) {
        value |= std::uint64_t{words[(low + i) / 32] >> (low + i) % 32 & 1} << i;
    }
    return value;
}
}  // namespace

PcieCore::PcieCore(Vdingo_pcie& dut, const CoreTiming& core_timing)
    : timing(core_timing), dut_(dut), random_(core_timing.seed) {
    dut.rq_tready_i = dut.rc_tvalid_i = dut.cq_tvalid_i = dut.cc_tready_i = 0;
    dut.tfc_nph_av_i = 0;
    dut.cfg_max_payload_i = std::countr_zero(timing.mps / 128);
    dut.cfg_max_read_req_i = std::countr_zero(timing.mrrs / 128);
}

// ------------------------------------------------------------------------------------ requester

void PcieCore::take_write(std::uint64_t address, unsigned dwords, unsigned first_be,
                          unsigned last_be) {
    for (unsigned i = 0; i < dwords; ++i) {
        const unsigned be = i == 0 ? first_be : i + 1 == dwords ? last_be : 0xf;
        for (unsigned b = 0; b < 4; ++b) {
            if (be >> b & 1) {
                memory_[address + 4 * i + b] = static_cast<std::uint8_t>(packet_[4 + i] >> 8 * b);
            }
        }
    }
    if (on_write) {
        on_write(address, 4 * dwords);
    }
}

void PcieCore::take_request() {
    const std::uint64_t address = bits(packet_, 2, 62) << 2;
    const auto dwords = static_cast<unsigned>(bits(packet_, 64, 11));
    const auto kind = static_cast<unsigned>(bits(packet_, 75, 4));
    const auto tag = static_cast<unsigned>(bits(packet_, 96, 8));
    const unsigned first_be = packet_be_ & 0xf;
    const unsigned last_be = packet_be_ >> 8 & 0xf;
    check(bits(packet_, 0, 2) == 0 && bits(packet_, 79, 17) == 0 && bits(packet_, 104, 24) == 0,
          "a field that the card does not use is set");
    check((packet_be_ & 0xf0f0) == 0, "byte enables of a second packet");
    check(address % 4096 + 4 * dwords <= 4096, "a request crosses 4 KiB");
    check(dwords > 0 && (dwords == 1 ? last_be == 0 : first_be && last_be), "byte enables");
    if (kind == 1) {
        check(dwords * 4 <= timing.mps, "more than the maximum payload");
        check(packet_.size() == 4 + dwords, "a write's length is not its payload's");
        take_write(address, dwords, first_be, last_be);
        return;
    }
    check(kind == 0 && packet_.size() == 4, "neither read nor write");
    check(dwords * 4 <= timing.mrrs, "more than the maximum read request");
    check(!busy_[tag], "a tag is used twice");
    check(timing.all_tags || tag < 32, "a tag above 31");
    check(timing.credits == 15 || used_ < timing.credits, "a read for which the host has no room");
    busy_[tag] = true;
    ++used_;
    returns_.push_back(now_ + 5 + random_() % 30);
    Read read{.tag = tag, .bytes = dwords * 4, .address = address, .due = 0, .data = {}};
    read.due = now_ + timing.latency + (timing.jitter ? random_() % timing.jitter : 0);
    if (random_() % 100 < timing.fail) {
        read.failure = 1 + failures_++ % 7;
    }
    for (unsigned i = 0; i < read.bytes; ++i) {
        read.data.push_back(memory_[address + i]);
    }
    if (on_read) {
        on_read(address, read.bytes, read.failure != 0);
    }
    reads_.push_back(std::move(read));
    most_reads = std::max(most_reads, reads_.size());
}

void PcieCore::send(std::deque<Beat>& to, const std::vector<std::uint32_t>& words,
                    bool discontinue) {
    for (std::size_t at = 0; at < words.size(); at += 16) {
        Beat beat;
        for (auto& word : beat.data) {
            word = static_cast<std::uint32_t>(random_());  // lanes without data
        }
        const std::size_t n = std::min<std::size_t>(16, words.size() - at);
        std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(at), n, beat.data.begin());
        beat.last = at + n == words.size();
        beat.discontinue = beat.last && discontinue;
        beat.first = at == 0;
        to.push_back(beat);
    }
}

/// Sends a completion of a read: data up to a read completion boundary, or a failure.
void PcieCore::complete() {
    std::vector<std::size_t> due;
    for (std::size_t i = 0; i < reads_.size() && (timing.reorder || i == 0); ++i) {
        if (reads_[i].due <= now_) {
            due.push_back(i);
        }
    }
    if (due.empty() || hold_completions) {
        return;
    }
    const std::size_t chosen = due[random_() % due.size()];
    Read& read = reads_[chosen];
    if (last_tag_ != read.tag && last_tag_ < 256 && busy_[last_tag_]) {
        ++mixed;
    }
    last_tag_ = read.tag;
    const unsigned left = read.bytes - read.done;
    const std::uint64_t from = read.address + read.done;
    unsigned piece = left;
    if (from + left > (from + timing.mps) / timing.rcb * timing.rcb) {
        piece = static_cast<unsigned>((from + timing.mps) / timing.rcb * timing.rcb - from);
    }
    if (timing.reorder && random_() % 2) {
        const std::uint64_t end = (from / timing.rcb + 1 + random_() % 3) * timing.rcb;
        piece = std::min(piece, static_cast<unsigned>(end - from));
    }
    unsigned error = 0, status = 0, poisoned = 0;
    const unsigned failure = read.failure;
    if (failure == 7) {
        piece = std::min(piece, 32u);  // ends at no read completion boundary
    } else if (failure && (read.done || piece == left || random_() % 2)) {
        const bool none = failure != 2 && failure != 4;
        error = std::array{0u, 2u, 1u, 9u, 0u, 3u, 8u}[failure];
        status = failure == 1;
        poisoned = failure == 2;
        if (none) {
            piece = 0;
        }
    }
    const bool ends = piece == left || piece == 0;
    std::vector<std::uint32_t> words(3 + piece / 4);
    words[0] = static_cast<std::uint32_t>((read.address & 0xfff) | error << 12 | left << 16 |
                                          static_cast<unsigned>(ends) << 30);
    words[1] = piece / 4 | status << 11 | poisoned << 14 | 0x100u << 16;
    words[2] = read.tag | 0x2340u << 8;
    if (error == 9) {  // no other field is valid
        words[0] = (static_cast<std::uint32_t>(random_()) & ~0xf000u) | 0x9000 | 1u << 30;
        words[1] = static_cast<std::uint32_t>(random_());
        words[2] = (static_cast<std::uint32_t>(random_()) & ~0xffu) | read.tag;
    }
    for (unsigned i = 0; i < piece; ++i) {
        words[3 + i / 4] |= std::uint32_t{read.data[read.done + i]} << 8 * (i % 4);
    }
    send(beats_, words, ends && failure == 4);
    splits += !ends;
    read.done += piece;
    if (ends) {
        busy_[read.tag] = false;
        reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
}

/// Sends a completion of an unused tag or of another requester.
void PcieCore::stray() {
    std::vector<std::uint32_t> words(3 + 16 * (random_() % 3));
    for (auto& word : words) {
        word = static_cast<std::uint32_t>(random_());
    }
    words[0] = (words[0] & ~0xf000u) | (random_() % 2 ? 4u : 6u) << 12 | 1u << 30;
    send(beats_, words, false);
}

// ------------------------------------------------------------------------------------ cycle

void PcieCore::sample() {
    ++now_;
    while (!returns_.empty() && returns_.front() <= now_) {
        returns_.pop_front();
        --used_;
    }
    // requester
    if (!dut_.rq_tvalid_o) {
        check(packet_.empty(), "tvalid falls within a packet");
        check(!waits_, "tvalid falls before tready");
    } else {
        if (waits_) {
            check(std::equal(waits_data_.begin(), waits_data_.end(), &dut_.rq_tdata_o[0]),
                  "data change before tready");
        }
        std::copy_n(&dut_.rq_tdata_o[0], 16, waits_data_.begin());
        waits_ = !dut_.rq_tready_i;
        if (dut_.rq_tready_i) {
            if (packet_.empty()) {
                packet_be_ = dut_.rq_tuser_o[0] & 0xffff;
            }
            check((dut_.rq_tkeep_o & (dut_.rq_tkeep_o + 1)) == 0 &&
                      (dut_.rq_tlast_o || dut_.rq_tkeep_o == 0xffff),
                  "tkeep");
            for (unsigned i = 0; i < 16 && dut_.rq_tkeep_o >> i & 1; ++i) {
                packet_.push_back(dut_.rq_tdata_o[i]);
            }
            if (dut_.rq_tlast_o) {
                take_request();
                packet_.clear();
            }
        }
    }
    check(dut_.rc_tready_o, "completions wait");
    // completer
    if (dut_.cq_tvalid_i && dut_.cq_tready_o) {
        np_now_ = cq_.front().first && !cq_.front().posted;
        cq_.pop_front();
        cq_sent_ = false;
    } else {
        np_now_ = false;
    }
    if (dut_.cq_np_req_o && !np_now_) {
        np_credit_ = std::min(np_credit_ + (dut_.cq_np_req_o == 1 ? 1 : 2), 32u);
    } else if (!dut_.cq_np_req_o && np_now_) {
        --np_credit_;
    }
    if (dut_.cc_tvalid_o && dut_.cc_tready_i) {
        take_answer();
    }
}

void PcieCore::drive() {
    dut_.rq_tready_i = moves() && !hold_rq;
    dut_.cc_tready_i = moves() && !hold_cc;
    late_ = {late_[1], late_[2], timing.credits == 15 ? 15 : timing.credits - used_};
    dut_.tfc_nph_av_i = static_cast<std::uint8_t>(late_[0]);
    if (beats_.size() < 2) {
        if (random_() % 100 < timing.stray) {
            stray();
        }
        complete();
    }
    dut_.rc_tvalid_i = !beats_.empty() && moves();
    if (dut_.rc_tvalid_i) {
        const Beat& beat = beats_.front();
        std::copy(beat.data.begin(), beat.data.end(), &dut_.rc_tdata_i[0]);
        dut_.rc_tlast_i = beat.last;
        for (unsigned i = 0; i < 6; ++i) {
            dut_.rc_tuser_i[i] = static_cast<std::uint32_t>(random_());
        }
        dut_.rc_tuser_i[5] &= 1;
        dut_.rc_tuser_i[3] = (dut_.rc_tuser_i[3] & ~1u) | beat.discontinue;
        beats_.pop_front();
    }
    if (cq_.empty()) {
        next_host_request();
    }
    if (!cq_sent_) {
        cq_sent_ = !cq_.empty() && moves();
    }
    dut_.cq_tvalid_i = cq_sent_;
    if (cq_sent_) {
        const Beat& beat = cq_.front();
        std::copy(beat.data.begin(), beat.data.end(), &dut_.cq_tdata_i[0]);
        dut_.cq_tlast_i = beat.last;
        for (unsigned i = 0; i < 6; ++i) {
            dut_.cq_tuser_i[i] = 0;
        }
        dut_.cq_tuser_i[0] = beat.be[0];
        dut_.cq_tuser_i[3] = beat.discontinue;
    }
    if (dut_.mgmt_done_i) {
        dut_.mgmt_done_i = 0;
    } else if (dut_.mgmt_read_o) {
        check(dut_.mgmt_addr_o == 0x78 / 4, "another configuration register");
        dut_.mgmt_data_i = (static_cast<std::uint32_t>(random_()) & ~0x100u) |
                           static_cast<unsigned>(timing.all_tags) << 8;
        dut_.mgmt_done_i = 1;
    }
}

}  // namespace dingo::rtl
