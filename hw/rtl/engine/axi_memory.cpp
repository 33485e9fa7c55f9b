// SPDX-License-Identifier: BSD-2-Clause
#include "axi_memory.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace dingo::rtl {
namespace {

constexpr std::uint8_t kOkay = 0;
constexpr std::uint8_t kSlaveError = 2;

}  // namespace

void AxiMemory::drive() {
    if (stalls_)
        overtake();
    ++cycle_;
    down_.refill(timing_.pcie_bytes_per_cycle);
    up_.refill(timing_.pcie_bytes_per_cycle);
    // Read requests and writes share up_, as in dingo_pcie_rq.
    card_.m_axi_arready_i = reads_.size() < timing_.tags && up_.has() && ar_.ready();
    at_host();
    card_.m_axi_rvalid_i = r_.valid(arrived() && down_.has());
    if (card_.m_axi_rvalid_i) {
        const Read& read = *reads_.front();
        card_.m_axi_rid_i = read.id;
        card_.m_axi_rresp_i = read.error ? kSlaveError : kOkay;
        card_.m_axi_rlast_i = read.next + kBeat == read.data.size();
        std::memcpy(card_.m_axi_rdata_i.data(), read.data.data() + read.next, kBeat);
    }
    card_.m_axi_awready_i = aw_.ready();
    // Data is taken not before its address; AXI allows a slave to wait for it (A3.3.1).
    const bool address = !addresses_.empty() || (card_.m_axi_awvalid_o && card_.m_axi_awready_i);
    card_.m_axi_wready_i = up_.has() && w_.ready() && address;
    card_.m_axi_bvalid_i = b_.valid(!answers_.empty());
    card_.m_axi_bresp_i = answers_.empty() ? kOkay : answers_.front();
}

void AxiMemory::sample() {
    if (card_.m_axi_rvalid_i && card_.m_axi_rready_o) {
        r_.taken();
        Read& read = *reads_.front();
        down_.bytes -= kBeat;
        if (read.next == 0 || new_tlp(read.address + read.next))
            down_.bytes -= kAnswerHeader;
        read.next += kBeat;
        if (read.next == read.data.size())
            reads_.pop_front();
    }
    if (card_.m_axi_bvalid_i && card_.m_axi_bready_o) {
        b_.taken();
        answers_.pop_front();
    }
    if (card_.m_axi_arvalid_o && card_.m_axi_arready_i)
        take_read();
    if (card_.m_axi_awvalid_o && card_.m_axi_awready_i) {
        addresses_.push_back({.address = card_.m_axi_awaddr_o, .data = {}});
    }
    if (card_.m_axi_wvalid_o && card_.m_axi_wready_i) {
        up_.bytes -= static_cast<double>(__builtin_popcountll(card_.m_axi_wstrb_o));
        take_write_beat();
    }
}

void AxiMemory::set_stalls(unsigned percent, std::uint64_t seed) {
    stalls_ = percent != 0;
    random_.seed(static_cast<std::uint32_t>(seed));
    for (Stall* stall : {&ar_, &r_, &aw_, &w_, &b_})
        stall->set(percent, seed = seed * 6364136223846793005u + 1442695040888963407u);
}

/// Whether the answer to the oldest read is at the card.
bool AxiMemory::arrived() {
    if (reads_.empty())
        return false;
    const Read& read = *reads_.front();
    return taken_ >= read.behind && read.sent + timing_.way_cycles <= cycle_;
}

/// Between two bursts, moves a burst to the front if no burst before it has its ID (AXI4 A5.3).
void AxiMemory::overtake() {
    if (reads_.size() < 2 || reads_.front()->next != 0 || card_.m_axi_rvalid_i ||
        random_() % 4 != 0)
        return;
    const auto at =
        reads_.begin() + 1 + static_cast<std::ptrdiff_t>(random_() % (reads_.size() - 1));
    const auto same_id = [&](const auto& read) { return read->id == (*at)->id; };
    if (std::none_of(reads_.begin(), at, same_id))
        std::rotate(reads_.begin(), at, at + 1);
}

void AxiMemory::take_read() {
    auto read = std::make_unique<Read>();
    read->id = card_.m_axi_arid_o;
    read->address = card_.m_axi_araddr_o;
    read->data.resize((std::size_t{card_.m_axi_arlen_o} + 1) * kBeat);
    up_.bytes -= kHeader;
    to_host_.push_back({.due = cycle_ + timing_.way_cycles, .read = read.get(), .data = {}});
    reads_.push_back(std::move(read));
}

/// Executes, in order, the requests that have arrived at the host.
void AxiMemory::at_host() {
    while (!to_host_.empty() && to_host_.front().due <= cycle_) {
        ToHost& first = to_host_.front();
        if (first.read != nullptr) {
            Read& read = *first.read;
            read.error = !host_.dma_read(read.address, read.data);
            read.sent = cycle_ + timing_.read_cycles - 2 * timing_.way_cycles;
            answered_.push_back(&read);
        } else if (!first.data.empty())
            static_cast<void>(host_.dma_write(first.address, first.data));
        else
            host_.raise_msix(first.vector);
        to_host_.pop_front();
    }
    for (; !answered_.empty() && answered_.front()->sent <= cycle_; answered_.pop_front())
        answered_.front()->behind = issued_;
}

void AxiMemory::raise_msix(unsigned vector) {
    if (timing_.way_cycles == 0) {
        host_.raise_msix(vector);
        return;
    }
    up_.bytes -= kHeader + 4;
    to_host_.push_back({.due = cycle_ + timing_.way_cycles, .data = {}, .vector = vector});
}

void AxiMemory::take_write_beat() {
    if (addresses_.empty())
        std::abort();  // drive() was not ready for it
    Write& write = addresses_.front();
    const std::size_t at = write.data.size();
    if (at == 0 || new_tlp(write.address + at))
        up_.bytes -= kHeader;
    write.data.resize(at + kBeat);
    std::memcpy(write.data.data() + at, card_.m_axi_wdata_o.data(), kBeat);
    const std::uint64_t enabled = card_.m_axi_wstrb_o;
    if (enabled != 0) {
        if (write.begin == SIZE_MAX)
            write.begin = at + static_cast<std::size_t>(__builtin_ctzll(enabled));
        write.end = at + kBeat - static_cast<std::size_t>(__builtin_clzll(enabled));
    }
    writing_ = !card_.m_axi_wlast_o;
    if (card_.m_axi_wlast_o)
        finish_write();
}

void AxiMemory::finish_write() {
    const Write& write = addresses_.front();
    bool good = true;
    if (write.begin < write.end) {
        const auto bytes =
            std::span<const std::byte>(write.data).subspan(write.begin, write.end - write.begin);
        if (timing_.way_cycles == 0)
            good = host_.dma_write(write.address + write.begin, bytes);
        else
            to_host_.push_back({.due = cycle_ + timing_.way_cycles,
                                .address = write.address + write.begin,
                                .data = {bytes.begin(), bytes.end()}});
    }
    addresses_.pop_front();
    answers_.push_back(good ? kOkay : kSlaveError);
}

}  // namespace dingo::rtl
