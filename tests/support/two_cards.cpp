// SPDX-License-Identifier: BSD-2-Clause
#include "two_cards.h"

#include <algorithm>
#include <stdexcept>

namespace dingo::test {
namespace {

constexpr unsigned kBudget = 64;
constexpr int kMaxSteps = 10'000'000;  // more steps: the engine never comes to rest, a bug

std::unique_ptr<Engine> make(const std::string& name, const EngineConfig& config, TestHost& host,
                             TestWire& wire) {
    register_engines();
    auto engine = make_engine(name, config, host, wire);
    if (!engine) {
        throw std::runtime_error("no engine named " + name);
    }
    return engine;
}

EngineConfig config_of(EngineConfig config, unsigned card) {
    config.mac += card;
    config.seed += card;
    return config;
}

}  // namespace

OneCard::OneCard(const std::string& engine_name, EngineConfig config)
    : engine(make(engine_name, config, host, wire)), driver(*engine, host, now) {}

void OneCard::settle() {
    for (int i = 0; engine->run(now, kBudget); ++i) {
        if (i == kMaxSteps) {
            throw std::runtime_error("the engine never comes to rest");
        }
    }
}

TwoCards::TwoCards(const std::string& engine0, const std::string& engine1, EngineConfig config) {
    const std::string names[2] = {engine0, engine1};
    for (unsigned i = 0; i < 2; ++i) {
        cards_[i] = std::make_unique<OneCard>(names[i], config_of(config, i));
        // Tests that watch the link expect single packets.
        cards_[i]->wire.trains = [this] { return !link.hook && !link.tap; };
        cards_[i]->wire.sink = [this, i](std::span<const std::byte> frame) {
            link.send(i, frame, now_);
        };
        TestDriver& card = cards_[i]->driver;
        card.start();
        card.set_ipv4(0, 0x0a4d0001 + i);
        const std::uint8_t ipv6[16] = {0xfd, 0x77, 0, 0, 0, 0, 0, 0,
                                       0,    0,    0, 0, 0, 0, 0, static_cast<std::uint8_t>(1 + i)};
        card.set_gid(1, ipv6);
        card.enable_port();
    }
}

bool TwoCards::step() {
    bool more = link.deliver(now_, [this](unsigned to, std::span<const std::byte> frame) {
        test::deliver(*cards_[to]->engine, frame);
    });
    for (unsigned i = 0; i < 2; ++i) {
        cards_[i]->now = now_;
        if (budget[i] != 0) {
            more = cards_[i]->engine->run(now_, budget[i]) || more;
        }
    }
    return more || link.next_arrival() <= now_;
}

bool TwoCards::run_until(const std::function<bool()>& done, Nanoseconds limit) {
    const Nanoseconds end = now_ + limit;
    for (int i = 0; i < kMaxSteps; ++i) {
        if (done()) {
            return true;
        }
        if (step()) {
            continue;
        }
        if (done()) {
            return true;
        }
        Nanoseconds next = link.next_arrival();
        for (unsigned card = 0; card < 2; ++card) {
            if (budget[card] != 0) {
                next = std::min(next, cards_[card]->engine->next_deadline());
            }
        }
        if (next == kNever || next > end) {
            now_ = next == kNever ? now_ : end;
            return false;
        }
        now_ = std::max(next, now_ + 1);
    }
    throw std::runtime_error("the cards never come to rest");
}

void TwoCards::run_for(Nanoseconds time) {
    const Nanoseconds end = now_ + time;
    run_until([] { return false; }, time);
    now_ = std::max(now_, end);
}

void TwoCards::settle(Nanoseconds limit) {
    run_until([] { return false; }, limit);
}

TestDriver::PathOptions TwoCards::path_to(unsigned card, std::uint32_t qpn,
                                          unsigned gid_index) const {
    TestDriver::PathOptions path;
    path.dest_qpn = qpn;
    path.sgid_index = static_cast<std::uint16_t>(gid_index);
    const auto host_octet = static_cast<std::uint8_t>(1 + card);
    if (gid_index == 0) {
        path.dgid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, host_octet};
    } else {
        path.dgid = {0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host_octet};
    }
    const std::uint64_t mac = cards_[card]->driver.read64(DINGO_REG_MAC);
    for (unsigned i = 0; i < 6; ++i) {
        path.dmac[i] = static_cast<std::uint8_t>(mac >> (40 - 8 * i));
    }
    return path;
}

dingo_wqe_ud TwoCards::ud_to(unsigned card, std::uint32_t qpn, std::uint32_t qkey,
                             unsigned gid_index) const {
    const TestDriver::PathOptions path = path_to(card, qpn, gid_index);
    dingo_wqe_ud av{};
    av.dest_qpn = qpn;
    av.qkey = qkey;
    std::ranges::copy(path.dgid, av.dgid);
    std::ranges::copy(path.dmac, av.dmac);
    av.sgid_index = path.sgid_index;
    av.udp_sport = path.udp_sport;
    av.hop_limit = path.hop_limit;
    return av;
}

TwoCards::Connection TwoCards::connect(const ConnectOptions& options) {
    Connection connection;
    for (unsigned i = 0; i < 2; ++i) {
        connection.cq[i] = driver(i).create_cq(options.log_cq);
        connection.qp[i] = driver(i).create_qp(connection.cq[i], connection.cq[i], options.qp);
        if (options.created)
            options.created(i, driver(i), connection.qp[i]);
    }
    bring_up(connection, options);
    return connection;
}

void TwoCards::bring_up(const Connection& connection, const ConnectOptions& options) {
    for (unsigned i = 0; i < 2; ++i) {
        const unsigned peer = 1 - i;
        TestDriver::PathOptions path = options.path;
        const auto address = path_to(peer, connection.qp[peer].qpn, options.gid_index);
        path.dest_qpn = address.dest_qpn;
        path.dgid = address.dgid;
        path.dmac = address.dmac;
        path.sgid_index = address.sgid_index;
        path.sq_psn = options.start_psn[i];
        path.rq_psn = options.start_psn[peer];
        driver(i).bring_up(connection.qp[i], path);
    }
}

void TwoCards::reconnect(Connection& connection, const ConnectOptions& options) {
    for (unsigned i = 0; i < 2; ++i) {
        TestQp& qp = connection.qp[i];
        driver(i).to_state(qp, DINGO_QPS_RESET);
        qp.sq_producer = qp.rq_producer = 0;
    }
    bring_up(connection, options);
}

dingo_cqe TwoCards::wait_cq(unsigned card, Cq& cq, Nanoseconds limit) {
    std::optional<dingo_cqe> entry;
    run_until(
        [&] {
            entry = driver(card).poll_cq(cq);
            return entry.has_value();
        },
        limit);
    if (!entry) {
        throw std::runtime_error("no completion came");
    }
    return *entry;
}

}  // namespace dingo::test
