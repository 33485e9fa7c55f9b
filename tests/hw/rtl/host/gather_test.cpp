// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_gather: the bytes of a packet's segments come as one stream without holes; errors of lists
// and memory show in the packet's last beat; the stream keeps up with the bus.
#include <deque>

#include "payload.h"

namespace {

using dingo::rtl::AxiTiming;
using dingo::rtl::Region;
using dingo::rtl::Segment;

struct Packet {
    std::vector<std::uint8_t> bytes;
    std::vector<bool> known;  // false: of a page that fails, any value
    bool err = false;
};

class Gather : public dingo::rtl::Payload {
  protected:
    void add(Packet& packet, const Segment& s) {
        for (std::uint32_t i = 0; i < s.len; ++i) {
            std::uint64_t bus = 0;
            const bool ok = s.region->translate(s.off + i, bus) && !is_refused(bus);
            packet.err |= !ok;
            packet.known.push_back(ok);
            packet.bytes.push_back(ok ? *memory.at(bus) : 0);
        }
    }
};

TEST_P(Gather, PacksTheSegmentsOfEachPacket) {
    constexpr unsigned kPackets = 500;
    make_regions();
    std::deque<Segment> segments;
    std::deque<Packet> packets;
    unsigned made = 0, got = 0, errors = 0;
    std::size_t position = 0;
    bool bad_byte = false;
    while ((got < kPackets || !dut.gather_idle_o) && now < 600'000) {
        if (segments.size() < 4 && made < kPackets) {
            Packet& p = packets.emplace_back();
            const unsigned n = 1 + pick(5);
            const std::uint32_t most = chance(10) ? 20'000 : chance(50) ? 100 : 3'000;
            for (unsigned i = 0; i < n; ++i) {
                segments.push_back(segment(most));
                add(p, segments.back());
            }
            segments.back().last = true;
            errors += p.err;
            ++made;
        }
        if (!dut.seg_valid_i && !segments.empty() && chance(70)) {
            put_segment(&dut.seg_i[0], segments.front());
            dut.seg_valid_i = 1;
        }
        dut.xl_flush_i = chance(1);
        dut.beat_ready_i = chance(now / 1000 % 2 == 0 ? 100 : 60);
        bool taken = false;
        cycle([&] {
            taken = dut.seg_valid_i && dut.seg_ready_o;
            if (dut.gather_idle_o) {
                ASSERT_TRUE(slave->idle()) << "idle while a read is out";
                ASSERT_FALSE(dut.seg_valid_i);
            }
            if (!dut.beat_valid_o || !dut.beat_ready_i) {
                return;
            }
            ASSERT_FALSE(packets.empty());
            const Packet& p = packets.front();
            const std::size_t n = std::min<std::size_t>(64, p.bytes.size() - position);
            const bool last = position + n == p.bytes.size();
            ASSERT_EQ(dut.beat_o[16] & 0x7f, n);
            ASSERT_EQ(dut.beat_o[16] >> 7 & 1, last);
            ASSERT_EQ(dut.beat_o[16] >> 8 & 1, last && p.err);
            const auto* data = reinterpret_cast<const std::uint8_t*>(&dut.beat_o[0]);
            for (std::size_t i = 0; i < n; ++i) {
                bad_byte |= p.known[position + i] && data[i] != p.bytes[position + i];
            }
            ASSERT_FALSE(bad_byte)
                << "packet " << got << " of " << p.bytes.size() << " at " << position;
            position += n;
            if (last) {
                packets.pop_front();
                position = 0;
                ++got;
            }
        });
        if (HasFatalFailure()) {
            FAIL() << "cycle " << now;
        }
        if (taken) {
            dut.seg_valid_i = 0;
            segments.pop_front();
        }
    }
    EXPECT_EQ(got, kPackets);
    EXPECT_TRUE(dut.gather_idle_o);
    EXPECT_TRUE(dut.host_idle_o);
    EXPECT_GT(errors, 10u);
    EXPECT_LT(errors, kPackets * 3 / 4);
    EXPECT_EQ(slave->violation(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Memory, Gather,
    testing::Values(
        AxiTiming{.latency = 1}, AxiTiming{.latency = 5, .stall_percent = 30},
        AxiTiming{.latency = 60, .jitter = 100, .stall_percent = 5, .reorder = true, .seed = 3}));

class GatherAlone : public Gather {};
INSTANTIATE_TEST_SUITE_P(Memory, GatherAlone, testing::Values(AxiTiming{.latency = 60}));

TEST_P(GatherAlone, LongSegmentsRunAtOneBeatPerCycle) {
    constexpr std::uint32_t kBytes = 256 * 1024;
    const Region r = maker.make(1, 12, kBytes + 4096);
    for (const std::uint32_t misalign : {0u, 37u}) {
        const Segment s{.region = &r,
                        .off = (4096 - r.mem.offset) % 4096 + misalign,
                        .len = kBytes,
                        .last = true};
        put_segment(&dut.seg_i[0], s);
        dut.seg_valid_i = 1;
        dut.beat_ready_i = 1;
        std::uint64_t first = 0;
        unsigned beats = 0;
        const std::uint64_t begin = now;
        while (beats < kBytes / 64 && now < begin + 20'000) {
            cycle([&] {
                if (dut.beat_valid_o) {
                    first = first != 0 ? first : now;
                    ++beats;
                }
            });
            dut.seg_valid_i = 0;
        }
        EXPECT_EQ(beats, kBytes / 64);
        // A page that is not aligned to beats takes one beat more; a line of the page list is read
        // for every 8 pages.
        EXPECT_LE(now - first, kBytes / 64 * 103 / 100 + 60);
    }
}

}  // namespace
