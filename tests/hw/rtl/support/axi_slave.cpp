// SPDX-License-Identifier: BSD-2-Clause
#include "axi_slave.h"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cstring>
#include <utility>

namespace dingo::rtl {

AxiSlave::AxiSlave(AxiPins pins, Read read, Write write, AxiTiming timing)
    : pins_(pins),
      read_(std::move(read)),
      write_(std::move(write)),
      timing_(timing),
      random_(timing.seed) {
    *pins_.arready = *pins_.awready = *pins_.wready = *pins_.rvalid = *pins_.bvalid = 0;
}

bool AxiSlave::refused(std::uint64_t address, std::uint64_t bytes) const {
    return std::any_of(bad_.begin(), bad_.end(), [&](const Range& r) {
        return address < r.address + r.bytes && r.address < address + bytes;
    });
}

void AxiSlave::check_burst(std::uint64_t address, unsigned beats) {
    check(address % kBeat == 0, "address is not aligned to a beat");
    check(address % 4096 + beats * kBeat <= 4096, "burst crosses 4 KiB");
}

void AxiSlave::sample() {
    const auto& p = pins_;
    if (ar_waits_) {
        check(*p.arvalid && *p.araddr == ar_address_ && *p.arid == ar_id_, "AR did not wait");
    }
    if (aw_waits_) {
        check(*p.awvalid && *p.awaddr == aw_address_, "AW did not wait");
    }
    if (w_waits_) {
        check(*p.wvalid && *p.wstrb == w_strobe_ &&
                  std::equal(w_data_.begin(), w_data_.end(), p.wdata),
              "W did not wait");
    }
    ar_waits_ = *p.arvalid && !*p.arready;
    aw_waits_ = *p.awvalid && !*p.awready;
    w_waits_ = *p.wvalid && !*p.wready;
    if (ar_waits_) {
        ar_address_ = *p.araddr;
        ar_id_ = *p.arid;
    }
    if (aw_waits_) {
        aw_address_ = *p.awaddr;
    }
    if (w_waits_) {
        w_strobe_ = *p.wstrb;
        std::copy_n(p.wdata, w_data_.size(), w_data_.begin());
    }

    if (*p.wvalid && *p.wready) {
        take_write_beat();
    }
    if (*p.arvalid && *p.arready) {
        check_burst(*p.araddr, *p.arlen + 1u);
        ReadBurst& burst = reads_.emplace_back();
        burst.address = *p.araddr;
        burst.due = due();
        burst.id = *p.arid;
        burst.beats = *p.arlen + 1u;
        most_reads_ = std::max(most_reads_, reads_.size());
    }
    if (*p.awvalid && *p.awready) {
        check_burst(*p.awaddr, *p.awlen + 1u);
        writes_.push_back({*p.awaddr, *p.awlen + 1u});
    }
    read_taken_ = *p.rvalid && *p.rready;
    answer_taken_ = *p.bvalid && *p.bready;
}

void AxiSlave::take_write_beat() {
    const WriteBurst& burst =
        writes_.front();  // not empty: wready is up only while a burst's address is known
    const std::uint64_t address = burst.address + write_beat_ * kBeat;
    const auto* bytes = reinterpret_cast<const std::byte*>(pins_.wdata);
    for (std::uint64_t strobe = *pins_.wstrb; strobe != 0;) {
        const int low = std::countr_zero(strobe);
        const int n = std::countr_one(strobe >> low);
        if (run_bytes_ != 0 && run_address_ + run_bytes_ != address + static_cast<unsigned>(low)) {
            end_run();
        }
        if (run_bytes_ == 0) {
            run_address_ = address + static_cast<unsigned>(low);
        }
        std::memcpy(run_.data() + run_bytes_, bytes + low, static_cast<std::size_t>(n));
        run_bytes_ += static_cast<std::size_t>(n);
        strobe = low + n == 64 ? 0 : strobe >> (low + n) << (low + n);
    }
    ++write_beat_;
    check((*pins_.wlast != 0) == (write_beat_ == burst.beats),
          "WLAST is not at the end of the burst");
    if (write_beat_ == burst.beats) {
        end_run();
        answers_.push_back({due(), write_bad_});
        write_bad_ = false;
        write_beat_ = 0;
        writes_.pop_front();
    }
}

void AxiSlave::end_run() {
    if (run_bytes_ != 0) {
        const std::span<const std::byte> bytes(run_.data(), run_bytes_);
        write_bad_ |= refused(run_address_, run_bytes_) || !write_(run_address_, bytes);
    }
    run_bytes_ = 0;
}

/// Index of the read burst that gives the next beat; reads_.size(): none.
std::size_t AxiSlave::choose_read() {
    if (!timing_.reorder) {
        return !reads_.empty() && reads_.front().due <= now_ ? 0 : reads_.size();
    }
    std::bitset<256> before;  // IDs of older bursts: bursts of one ID stay in order
    std::size_t chosen = reads_.size();
    unsigned candidates = 0;
    for (std::size_t i = 0; i < reads_.size(); ++i) {
        if (reads_[i].due <= now_ && !before[reads_[i].id] && random_() % ++candidates == 0) {
            chosen = i;
        }
        before.set(reads_[i].id);
    }
    return chosen;
}

void AxiSlave::drive_read() {
    if (*pins_.rvalid && !read_taken_) {
        return;
    }
    *pins_.rvalid = 0;
    const std::size_t index = moves() ? choose_read() : reads_.size();
    if (index == reads_.size()) {
        return;
    }
    ReadBurst& burst = reads_[index];
    const unsigned slot = burst.next % kChunk;
    if (slot == 0) {
        const std::uint64_t address = burst.address + burst.next * kBeat;
        const std::size_t bytes = std::min(burst.beats - burst.next, kChunk) * kBeat;
        burst.bad = refused(address, bytes) || !read_(address, std::span(burst.data).first(bytes));
    }
    *pins_.rvalid = 1;
    *pins_.rid = static_cast<std::uint8_t>(burst.id);
    *pins_.rresp = burst.bad ? 2 : 0;
    std::memcpy(pins_.rdata, burst.data.data() + slot * kBeat, kBeat);
    ++burst.next;
    *pins_.rlast = burst.next == burst.beats;
    if (*pins_.rlast) {
        reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(index));
    }
}

void AxiSlave::drive() {
    ++now_;
    *pins_.arready = moves();
    *pins_.awready = moves();
    *pins_.wready = !writes_.empty() && moves();
    drive_read();
    if (!*pins_.bvalid || answer_taken_) {
        *pins_.bvalid = !answers_.empty() && answers_.front().due <= now_ && moves();
        if (*pins_.bvalid) {
            *pins_.bresp = answers_.front().bad ? 2 : 0;
            answers_.pop_front();
        }
    }
}

}  // namespace dingo::rtl
