// SPDX-License-Identifier: BSD-2-Clause
#include "pair.h"

#include <algorithm>
#include <random>
#include <stdexcept>

namespace dingo::conformance {

void random_bytes(std::span<std::byte> out, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (i % 8 == 0)
            word = random();
        out[i] = static_cast<std::byte>(word >> (i % 8 * 8));
    }
}

Pair::Pair(const std::string& engine, const PairOptions& options)
    : cards(engine, engine, options.config), link(cards.connect(options.connect)) {
    for (unsigned card = 0; card < 2; ++card)
        mr[card] = driver(card).create_mr(options.bytes, kAllAccess);
}

dingo_admin_cpl pause_at_once(test::TwoCards& cards, unsigned card, std::uint32_t key) {
    dingo_cmd_destroy command{};
    command.hdr.opcode = DINGO_OP_PAUSE_MR;
    command.id = key;
    cards.driver(card).submit_raw(std::as_bytes(std::span(&command, 1)));
    cards.driver(card).ring_admin();
    for (unsigned i = 0; i < 1'000'000; ++i) {
        if (const auto completion = cards.driver(card).poll_admin())
            return *completion;
        cards.card(card).engine->run(cards.now(), 1);
    }
    throw std::runtime_error("PAUSE_MR did not complete");
}

void Pair::fill(unsigned card, std::uint64_t offset, std::uint64_t length, std::uint64_t seed) {
    random_bytes(bytes(card, offset, length), seed);
}

bool Pair::same(std::uint64_t offset0, std::uint64_t offset1, std::uint64_t length) {
    return std::ranges::equal(bytes(0, offset0, length), bytes(1, offset1, length));
}

test::SendWr Pair::rdma(std::uint8_t opcode, std::uint64_t local, std::uint64_t remote,
                        std::uint32_t length) const {
    test::SendWr wr;
    wr.opcode = opcode;
    wr.sges = {mr[0].sge(local, length)};
    wr.raddr = mr[1].iova + remote;
    wr.rkey = mr[1].key;
    return wr;
}

test::SendWr Pair::send(std::uint64_t local, std::uint32_t length) const {
    test::SendWr wr;
    wr.opcode = DINGO_WR_SEND;
    wr.sges = {mr[0].sge(local, length)};
    return wr;
}

test::SendWr Pair::fetch_add(std::uint64_t local, std::uint64_t remote, std::uint64_t add) const {
    test::SendWr wr = rdma(DINGO_WR_FETCH_ADD, local, remote, 8);
    wr.swap_add = add;
    return wr;
}

std::uint8_t Pair::event(unsigned card) {
    test::TestDriver& d = driver(card);
    const auto entry = d.poll_eq(d.async_eq);
    if (!entry)
        return 0;
    d.ring_eq(d.async_eq);
    return entry->kind == DINGO_EV_PORT_UP ? event(card) : entry->kind;
}

}  // namespace dingo::conformance
