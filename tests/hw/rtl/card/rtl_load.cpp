// SPDX-License-Identifier: BSD-2-Clause
#include "rtl_load.h"

#include <bit>
#include <stdexcept>
#include <string>

namespace dingo::test {
namespace {

constexpr Nanoseconds kWire = 200;          // MAC, PHY and fibre of both ends
constexpr Nanoseconds kGiveUp = 2'000'000;  // without a completion
constexpr std::uint64_t kMemory = 4U << 20;

}  // namespace

RtlPair::RtlPair(const RtlLoad& load) : load_(load), cards_("rtl", "rtl") {
    connect(load.qps);
    for (unsigned c = 0; c < 2; ++c)
        make_region(c);
    now_ = cards_.now() + 1000;
    for (unsigned c = 0; c < 2; ++c) {
        cards_.card(c).engine->run(now_, 1000);
        cards_.card(c).wire.sink = [this, c](std::span<const std::byte> frame) {
            wire_.push_back({now_ + kWire, 1 - c, {frame.begin(), frame.end()}});
        };
        rtl::set_timing(*cards_.card(c).engine, load_.timing);
    }
}

void RtlPair::connect(unsigned qps) {
    const unsigned blocks = (load_.inlined && load_.bytes > 32) || load_.sges > 2 ? 2 : 1;
    TwoCards::ConnectOptions options;
    options.path.path_mtu = load_.path_mtu;
    options.path.max_rd_atomic = 16;
    options.qp.log_sq = std::bit_width(2 * load_.outstanding * blocks - 1);
    options.qp.log_rq = std::bit_width(2 * load_.outstanding - 1);
    options.qp.log_stride = 5;  // max_recv_sge 1, the usual choice of programs
    options.created = [this](unsigned, TestDriver& driver, const TestQp& qp) {
        if (load_.kernel != DINGO_KERNEL_PASS &&
            driver.set_compute(qp.qpn, load_.kernel, load_.kernel == DINGO_KERNEL_DLRM ? 1000 : 0,
                               DINGO_COMPUTE_RECEIVE)
                    .status != DINGO_ST_OK)
            throw std::runtime_error("no kernel on the receive side");
    };
    options.log_cq = std::bit_width(4 * load_.outstanding - 1);
    for (unsigned i = 0; i < qps; ++i)
        links_.push_back(cards_.connect(options));
    for (auto& unrung : unrung_)
        unrung.resize(qps);
}

void RtlPair::make_region(unsigned card) {
    constexpr std::uint32_t kRights = DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE |
                                      DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_ATOMIC;
    Region& region = regions_[card];
    region.local = cards_.driver(card).create_mr(kMemory, kRights);
    if (load_.levels == 0) {
        region.remote = cards_.driver(card).create_mr(load_.region, kRights);
        region.first = region.remote.bus;
        return;
    }
    region.first = cards_.host(card).alloc(kMemory);
    std::vector<std::uint64_t> pages(load_.region / TestHost::kPage);
    for (std::size_t i = 0; i < pages.size(); ++i)
        pages[i] = region.first + i * 389 % (kMemory / TestHost::kPage) * TestHost::kPage;
    region.remote =
        cards_.driver(card).create_mr(cards_.driver(card).page_list(pages, load_.levels, 12),
                                      0x7f00'0000'0000, load_.region, kRights);
}

void RtlPair::post(unsigned card, TwoCards::Connection& link, bool ring) {
    const Mr& remote = regions_[1 - card].remote;
    SendWr wr;
    wr.opcode = load_.opcode;
    wr.swap_add = 1;  // used by FETCH_ADD only
    wr.flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
    if (load_.opcode != DINGO_WR_SEND) {
        wr.raddr = remote.iova;
        wr.rkey = remote.key;
        if (load_.random)
            wr.raddr += load_.opcode == DINGO_WR_FETCH_ADD
                            ? random_() % (load_.region / 8) * 8
                            : random_() % (load_.region / TestHost::kPage) * TestHost::kPage;
    }
    if (load_.inlined) {
        wr.inline_data.resize(load_.bytes);
        wr.force_inline = true;
    } else {
        for (unsigned i = 0; i < load_.sges; ++i)
            wr.sges.push_back(regions_[card].local.sge(i * 8192, load_.bytes / load_.sges));
    }
    if (load_.pushed && ring)
        cards_.driver(card).post_pushed(link.qp[card], wr);
    else
        cards_.driver(card).post_send(link.qp[card], wr, ring);
}

void RtlPair::post_receive(unsigned card, TwoCards::Connection& link) {
    cards_.driver(card).post_recv(link.qp[card], 1, {regions_[card].local.sge(0, load_.bytes)});
}

void RtlPair::again(unsigned card, std::size_t link) {
    unsigned& unrung = unrung_[card][link];
    const bool ring = ++unrung >= load_.list;
    post(card, links_[link], ring);
    if (ring)
        unrung = 0;
}

std::uint64_t RtlPair::stream(unsigned count, const std::function<void()>& at_start) {
    const unsigned total = 2 * count;
    const unsigned atonce = load_.outstanding * load_.qps * senders();
    unsigned done = 0;
    Nanoseconds start = 0;
    Nanoseconds last = now_;
    if (load_.opcode == DINGO_WR_SEND)
        for (unsigned c = 2 - senders(); c < 2; ++c)
            for (auto& link : links_)
                for (unsigned i = 0; i < 2 * load_.outstanding; ++i)
                    post_receive(c, link);
    for (unsigned i = 0; i < load_.outstanding; ++i)
        for (unsigned c = 0; c < senders(); ++c)
            for (std::size_t link = 0; link < links_.size(); ++link)
                again(c, link);
    while (done < total) {
        tick();
        if (now_ > last + kGiveUp)
            throw std::runtime_error("no completion came");
        for (unsigned c = 0; c < 2; ++c) {
            for (std::size_t l = 0; l < links_.size(); ++l) {
                while (const auto cqe = cards_.driver(c).poll_cq(links_[l].cq[c])) {
                    if (cqe->status != DINGO_WCS_SUCCESS)
                        throw std::runtime_error("completion with status " +
                                                 std::to_string(cqe->status));
                    if (cqe_opcode(*cqe) == DINGO_WC_RECV) {
                        post_receive(c, links_[l]);
                        continue;
                    }
                    last = now_;
                    if (++done == count) {
                        start = now_;
                        if (at_start)
                            at_start();
                    }
                    if (done + atonce <= total + count)
                        again(c, l);
                }
            }
        }
    }
    return (now_ - start) / rtl::kCycle;
}

RtlPair::Latency RtlPair::once(std::uint8_t opcode, std::uint32_t bytes, bool inlined,
                               bool pushed) {
    Latency latency;
    auto& link = links_.front();
    load_.opcode = opcode;
    load_.bytes = bytes;
    load_.inlined = inlined;
    load_.pushed = pushed;
    const bool read = opcode == DINGO_WR_READ;
    const Region& target = regions_[read ? 0 : 1];
    const std::uint64_t first = read ? target.local.bus : target.first;
    const Nanoseconds start = now_;
    TestHost& far = cards_.host(read ? 0 : 1);
    far.on_write = [&](std::uint64_t addr, std::span<const std::byte>) {
        if (addr >= first && addr < first + kMemory)
            latency.memory = now_ - start;
    };
    post(0, link, true);
    while (latency.completion == 0) {
        tick();
        if (now_ > start + kGiveUp)
            throw std::runtime_error("no completion came");
        if (cards_.driver(0).poll_cq(link.cq[0]))
            latency.completion = now_ - start;
    }
    far.on_write = nullptr;
    for (unsigned i = 0; i < 2000; ++i)
        tick();
    return latency;
}

void RtlPair::trace(unsigned card, rtl::Trace window, Nanoseconds length) {
    window.from = now_;
    window.to = now_ + length;
    rtl::set_trace(*cards_.card(card).engine, window);
}

void RtlPair::tick() {
    now_ += rtl::kCycle;
    while (!wire_.empty() && wire_.front().due <= now_) {
        cards_.card(wire_.front().to).engine->receive(wire_.front().bytes);
        wire_.pop_front();
    }
    for (unsigned c = 0; c < 2; ++c)
        cards_.card(c).engine->run(now_, 1);
}

}  // namespace dingo::test
