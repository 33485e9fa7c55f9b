// SPDX-License-Identifier: BSD-2-Clause
#include "pair.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace dingo::conformance {

// Compiled without optimization, like all tests: so eight bytes per step, and no library function
// for each.
void random_bytes(std::span<std::byte> out, std::uint64_t seed) {
    std::uint64_t state = seed;
    for (std::size_t i = 0; i < out.size(); i += sizeof state) {
        std::uint64_t word = state += 0x9e3779b97f4a7c15;  // splitmix64
        word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
        word = (word ^ word >> 27) * 0x94d049bb133111eb;
        word ^= word >> 31;
        std::memcpy(out.data() + i, &word, std::min(sizeof word, out.size() - i));
    }
}

bool same_bytes(std::span<const std::byte> one, std::span<const std::byte> other) {
    return one.size() == other.size() &&
           (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

bool all_bytes(std::span<const std::byte> bytes, std::byte value) {
    return bytes.empty() ||
           (bytes[0] == value && same_bytes(bytes.first(bytes.size() - 1), bytes.subspan(1)));
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
    return same_bytes(bytes(0, offset0, length), bytes(1, offset1, length));
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
