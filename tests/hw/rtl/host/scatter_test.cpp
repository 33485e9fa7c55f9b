// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_scatter: bytes of packets go where the orders say and nowhere else; bytes without a segment
// are dropped; items come back in order, after their bytes are in memory, with the packet's error.
// Atomics and writes take effect in order.
#include <deque>
#include <optional>

#include "payload.h"

namespace {

using dingo::rtl::AxiTiming;
using dingo::rtl::get_bits;
using dingo::rtl::HostMemory;
using dingo::rtl::put_bits;
using dingo::rtl::Region;
using dingo::rtl::Segment;

enum Op : unsigned { kSeg, kGrh, kEnd, kAtomic };
using Item = std::array<std::uint32_t, 12>;

struct Order {
    Op op = kSeg;
    bool no_item = false, to_rsp = false, has_payload = false;
    Item item{};
    Segment seg{};
};

struct Commit {
    bool to_rsp = false, err = false;
    std::optional<std::uint64_t> word{};  // of an atomic: the value before
    Item item{};
    Segment seg{};  // for tests that check memory when the item comes
    std::vector<std::uint8_t> bytes;
};

struct Beat {
    std::array<std::uint8_t, 64> data{};
    unsigned bytes = 0;
    bool last = false;
};

class Scatter : public dingo::rtl::Payload {
  protected:
    Item item() {
        Item i;
        for (auto& word : i) {
            word = random();
        }
        return i;
    }

    void offer(const Order& o) {
        std::uint32_t* w = &dut.scat_i[0];
        if (o.op == kSeg || o.op == kAtomic) {
            put_segment(w, o.seg);
        }
        for (unsigned i = 0; i < o.item.size(); ++i) {
            put_bits(w, 200 + 32 * i, 32, o.item[i]);
        }
        put_bits(w, 584, 1, o.has_payload);
        put_bits(w, 585, 1, o.to_rsp);
        put_bits(w, 586, 1, o.no_item);
        put_bits(w, 587, 2, o.op);
        dut.scat_valid_i = 1;
    }

    void offer(const Beat& b) {
        std::memcpy(&dut.payload_i[0], b.data.data(), 64);
        dut.payload_i[16] = b.bytes | (b.last ? 0x80u : 0u);
        dut.payload_valid_i = 1;
    }

    void add_payload(std::span<const std::uint8_t> bytes) {
        for (std::size_t at = 0; at < bytes.size(); at += 64) {
            Beat& b = beats.emplace_back();
            b.bytes = static_cast<unsigned>(std::min<std::size_t>(64, bytes.size() - at));
            b.last = at + b.bytes == bytes.size();
            std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), b.bytes, b.data.begin());
        }
    }

    /// Writes segments to `expected` as the card must; returns false if some bytes could not be
    /// written.
    bool write(HostMemory& expected, const std::vector<Segment>& segments,
               std::span<const std::uint8_t> bytes) {
        bool ok = true;
        std::size_t at = 0;
        for (const Segment& s : segments) {
            for (std::uint32_t i = 0; i < s.len; ++i) {
                std::uint64_t bus = 0;
                if (!s.region->translate(s.off + i, bus)) {
                    return false;  // nothing after a piece without address is written
                }
                ok &= !is_refused(bus);
                if (!is_refused(bus)) {
                    *expected.at(bus) = bytes[at];
                }
                ++at;
            }
        }
        return ok;
    }

    /// Eight bytes of the first page of a region; there are few choices, so that atomics meet.
    Segment hot_word(const Region& region, unsigned misaligned_percent) {
        Segment s{.region = &region, .off = 8 * pick(6), .len = 8, .last = true};
        std::uint64_t bus = 0;
        if (region.translate(s.off, bus))
            s.off += (8 - bus % 8) % 8;
        if (chance(misaligned_percent))
            s.off += 1 + pick(7);
        return s;
    }

    void random_atomic(HostMemory& expected) {
        const unsigned n = static_cast<unsigned>(regions.size());
        Order& o = orders.emplace_back();
        o.op = kAtomic;
        o.seg = hot_word(regions[chance(80) ? 1 : pick(n)], 3);
        if (o.seg.region == &regions.back() && chance(50))  // where the bus gives an error
            o.seg.off = refused - regions.back().mem.addr - regions.back().mem.offset + 8;
        std::uint64_t bus = 0, value = 0;
        bool ok = o.seg.region->translate(o.seg.off, bus) && bus % 8 == 0 && !is_refused(bus);
        if (ok)
            std::memcpy(&value, expected.at(bus), 8);
        const bool swap = chance(50);
        const std::uint64_t operand = std::uint64_t{random()} << 32 | random();
        const std::uint64_t compare = chance(60) ? value : value ^ 1ULL << pick(64);
        for (unsigned i = 0; i < 2; ++i) {
            o.item[i] = static_cast<std::uint32_t>(compare >> 32 * i);
            o.item[2 + i] = static_cast<std::uint32_t>(operand >> 32 * i);
        }
        o.item[4] = swap;
        if (ok && (!swap || compare == value)) {
            const std::uint64_t changed = swap ? operand : value + operand;
            std::memcpy(expected.at(bus), &changed, 8);
        }
        Order& end = orders.emplace_back();
        end.op = kEnd;
        end.to_rsp = true;
        end.item = item();
        errors += !ok;
        commits.push_back(
            {.to_rsp = true, .err = !ok, .word = value, .item = end.item, .bytes = {}});
    }

    void random_packet(HostMemory& expected) {
        if (atomics && chance(40)) {
            random_atomic(expected);
            return;
        }
        const bool grh = chance(30);
        std::vector<std::uint8_t> payload(chance(15)   ? 0
                                          : chance(30) ? 64 * (1 + pick(64))
                                                       : 1 + pick(4096));
        for (auto& b : payload) {
            b = static_cast<std::uint8_t>(random());
        }
        std::vector<std::uint8_t> stream;
        if (grh) {
            Order& o = orders.emplace_back();
            o.op = kGrh;
            o.item = item();
            for (unsigned i = 0; i < 40; ++i) {
                stream.push_back(static_cast<std::uint8_t>(o.item[i / 4] >> i % 4 * 8));
            }
        }
        stream.insert(stream.end(), payload.begin(), payload.end());
        std::size_t left =
            chance(70) ? stream.size() : pick(static_cast<unsigned>(stream.size()) + 1);
        std::vector<Segment> segments;
        while (left != 0) {
            Segment s = segment(segments.size() < 15 ? static_cast<std::uint32_t>(left) : 1);
            if (segments.size() == 15) {
                s.len = static_cast<std::uint32_t>(left);
                s.off = random() % (s.region->bytes - s.len);
            }
            if (atomics && chance(50)) {  // overlaps words that atomics change
                s = {.region = &regions[1], .off = pick(64), .len = std::min(s.len, 1 + pick(64))};
            }
            left -= s.len;
            segments.push_back(s);
            Order& o = orders.emplace_back();
            o.seg = s;
        }
        Order& end = orders.emplace_back();
        end.op = kEnd;
        end.no_item = chance(20);
        end.to_rsp = chance(50);
        end.has_payload = !payload.empty();
        end.item = item();
        add_payload(payload);
        const bool ok = write(expected, segments, stream);
        errors += !ok;
        if (!end.no_item) {
            commits.push_back({.to_rsp = end.to_rsp, .err = !ok, .item = end.item, .bytes = {}});
        }
    }

    /// One cycle; orders and beats are offered, items taken, with the given percentages.
    void step(unsigned order_percent, unsigned beat_percent, unsigned take_percent) {
        if (!dut.scat_valid_i && !orders.empty() && chance(order_percent)) {
            offer(orders.front());
        }
        if (!dut.payload_valid_i && !beats.empty() && chance(beat_percent)) {
            offer(beats.front());
        }
        dut.req_ready_i = chance(take_percent);
        dut.rsp_ready_i = chance(take_percent);
        bool order_taken = false, beat_taken = false;
        cycle([&] {
            order_taken = dut.scat_valid_i && dut.scat_ready_o;
            beat_taken = dut.payload_valid_i && dut.payload_ready_o;
            if (dut.scatter_idle_o) {
                ASSERT_TRUE(slave->idle()) << "idle while a write is out";
            }
            ASSERT_FALSE(dut.req_valid_o && dut.rsp_valid_o);
            if (!(dut.req_valid_o && dut.req_ready_i) && !(dut.rsp_valid_o && dut.rsp_ready_i)) {
                return;
            }
            ASSERT_FALSE(commits.empty());
            const Commit& c = commits.front();
            ASSERT_EQ(dut.rsp_valid_o != 0, c.to_rsp);
            ASSERT_TRUE(std::equal(c.item.begin(), c.item.end(), &dut.commit_o[0]))
                << "item of another packet";
            ASSERT_EQ(dut.commit_o[14] & 1, c.err);
            if (c.word && !c.err) {
                ASSERT_EQ(dut.commit_o[12] | std::uint64_t{dut.commit_o[13]} << 32, *c.word);
            }
            for (std::uint32_t i = 0; i < c.bytes.size(); ++i) {
                std::uint64_t bus = 0;
                ASSERT_TRUE(c.seg.region->translate(c.seg.off + i, bus));
                ASSERT_EQ(*memory.at(bus), c.bytes[i]) << "the item came before the bytes";
            }
            commits.pop_front();
        });
        if (order_taken) {
            dut.scat_valid_i = 0;
            orders.pop_front();
        }
        if (beat_taken) {
            dut.payload_valid_i = 0;
            beats.pop_front();
        }
    }

    std::deque<Order> orders;
    std::deque<Beat> beats;
    std::deque<Commit> commits;
    unsigned errors = 0;
    bool atomics = false;

    /// Runs random packets until all are done, and checks memory and items.
    void run_random(unsigned packets, std::uint64_t cycles);
};

void Scatter::run_random(unsigned packets, std::uint64_t cycles) {
    make_regions();
    HostMemory expected = memory;
    unsigned made = 0;
    while ((made < packets || !commits.empty() || !orders.empty() || !dut.scatter_idle_o) &&
           now < cycles) {
        if (orders.size() < 4 && made < packets) {
            random_packet(expected);
            ++made;
        }
        dut.xl_flush_i = chance(1);
        const unsigned phase = now / 2000 % 4;
        step(phase == 1 ? 10 : 90, phase == 2 ? 40 : 100, phase == 3 ? 5 : 90);
        if (HasFatalFailure()) {
            FAIL() << "cycle " << now;
        }
    }
    EXPECT_EQ(made, packets);
    EXPECT_TRUE(commits.empty());
    EXPECT_TRUE(beats.empty());
    EXPECT_TRUE(dut.scatter_idle_o);
    EXPECT_TRUE(dut.host_idle_o);
    EXPECT_TRUE(memory == expected);
    EXPECT_GT(errors, 10u);
    EXPECT_LT(errors, packets * 3 / 4);
    EXPECT_EQ(slave->violation(), "");
}

TEST_P(Scatter, PutsBytesWhereTheOrdersSay) {
    run_random(500, 800'000);
}

TEST_P(Scatter, AtomicsAndWritesHappenInTheirOrder) {
    atomics = true;
    run_random(1500, 1'500'000);
}

TEST_P(Scatter, AnItemComesBehindItsBytes) {
    const Region r = maker.make(1, 12, 900'000);
    std::uint64_t off = 0;
    for (unsigned i = 0; i < 300; ++i) {
        std::vector<std::uint8_t> bytes(1 + pick(chance(50) ? 100 : 2900));
        for (auto& b : bytes) {
            b = static_cast<std::uint8_t>(random());
        }
        Order& o = orders.emplace_back();
        o.seg = {.region = &r,
                 .off = off,
                 .len = static_cast<std::uint32_t>(bytes.size()),
                 .last = true};
        off += bytes.size();
        const Segment seg = o.seg;
        add_payload(bytes);
        Order& end = orders.emplace_back();
        end.op = kEnd;
        end.has_payload = true;
        end.item = item();
        commits.push_back({.item = end.item, .seg = seg, .bytes = bytes});
    }
    while (!commits.empty() && now < 100'000) {
        step(100, 100, 100);
        ASSERT_FALSE(HasFatalFailure()) << "cycle " << now;
    }
    EXPECT_TRUE(commits.empty());
    EXPECT_TRUE(beats.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Memory, Scatter,
    testing::Values(
        AxiTiming{.latency = 1}, AxiTiming{.latency = 5, .stall_percent = 30},
        AxiTiming{.latency = 60, .jitter = 100, .stall_percent = 5, .reorder = true, .seed = 3}));

class ScatterAlone : public Scatter {};
INSTANTIATE_TEST_SUITE_P(Memory, ScatterAlone, testing::Values(AxiTiming{.latency = 60}));

TEST_P(ScatterAlone, PacketsOfAPageRunAtOneBeatPerCycle) {
    constexpr unsigned kPackets = 64;
    const Region r = maker.make(1, 16, kPackets * 4096 + 65536);
    const std::vector<std::uint8_t> bytes(4096, 0x5a);
    for (unsigned i = 0; i < kPackets; ++i) {
        Order& o = orders.emplace_back();
        o.seg = {.region = &r,
                 .off = (65536 - r.mem.offset) % 65536 + i * 4096ull,
                 .len = 4096,
                 .last = true};
        Order& end = orders.emplace_back();
        end.op = kEnd;
        end.has_payload = true;
        add_payload(bytes);
        commits.push_back({.bytes = {}});
    }
    while (!commits.empty() && now < 20'000) {
        step(100, 100, 100);
        ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_TRUE(commits.empty());
    EXPECT_LE(now, kPackets * 64 + 250 + 128) << "cycles, 128 of them for tags that are cleared";
}

/// Atomics on different words do not wait for each other; on one word, each goes on with the result
/// of the one before.
TEST_P(ScatterAlone, AtomicsOnDifferentWordsOverlap) {
    constexpr unsigned kAtomics = 64;
    const Region r = maker.make(0, 0, 10'000);
    std::uint64_t cycles[2] = {};
    for (const unsigned words : {64U, 1U}) {
        const std::uint64_t start = now;
        for (unsigned i = 0; i < kAtomics; ++i) {
            Order& o = orders.emplace_back();
            o.op = kAtomic;
            o.seg = {.region = &r,
                     .off = (8 - r.mem.addr % 8) % 8 + i % words * 8ULL,
                     .len = 8,
                     .last = true};
            o.item[2] = 1;
            Order& end = orders.emplace_back();
            end.op = kEnd;
            end.to_rsp = true;
            commits.push_back({.to_rsp = true, .bytes = {}});
        }
        while (!commits.empty() && now < start + 50'000) {
            step(100, 100, 100);
            ASSERT_FALSE(HasFatalFailure());
        }
        EXPECT_TRUE(commits.empty());
        cycles[words == 1] = now - start;
    }
    EXPECT_LE(cycles[0], kAtomics * 30) << "eight at once, two ways of 60 cycles each";
    EXPECT_LE(cycles[1], kAtomics * 30);
}

/// Two regions map one page at two bus addresses; a third has a word at the same offset of another
/// page. No addition is lost or made in the wrong place.
TEST_P(ScatterAlone, AtomicsOnOneWordThroughTwoRegions) {
    const Region first = maker.make(0, 0, 16384);
    Region mirror = first, apart = first;
    mirror.mem.addr |= HostMemory::kMirror;
    apart.mem.addr += 4096;
    const std::uint64_t off = (8 - first.mem.addr % 8) % 8;
    std::memset(memory.at(first.mem.addr + off), 0, 8);
    std::memset(memory.at(apart.mem.addr + off), 0, 8);
    std::uint64_t together = 0, alone = 0;
    for (unsigned i = 0; i < 90; ++i) {
        const unsigned which = pick(3);
        Order& o = orders.emplace_back();
        o.op = kAtomic;
        o.seg = {.region = which == 0   ? &first
                           : which == 1 ? &mirror
                                        : &apart,
                 .off = off,
                 .len = 8,
                 .last = true};
        o.item[2] = 1;
        Order& end = orders.emplace_back();
        end.op = kEnd;
        end.to_rsp = true;
        commits.push_back({.to_rsp = true, .word = which == 2 ? alone++ : together++, .bytes = {}});
    }
    while (!commits.empty() && now < 50'000) {
        step(100, 100, 100);
        ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_TRUE(commits.empty());
}

TEST_P(ScatterAlone, RoomMeansThatTwentyTwoOrdersAreTaken) {
    const Region r = maker.make(0, 0, 10'000);
    Order o;
    o.seg = {
        .region = &r, .off = 0, .len = 64, .last = false};  // no payload comes: the orders wait
    unsigned taken = 0, since = 0;
    bool room = true;
    for (unsigned i = 0; i < 200; ++i) {
        offer(o);
        cycle([&] {
            if (room && !dut.room_o) {
                room = false;
                since = taken;
            }
            taken += dut.scat_ready_o;
        });
    }
    EXPECT_FALSE(room);
    EXPECT_GE(taken, since + 21) << "the order that took the room counts";
    EXPECT_GE(taken, 64u);
}

}  // namespace
