// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_host: requests of each client are answered in order with the right bytes, with any latency,
// stalls, reordering and errors of memory; a client that does not take its answers delays no other.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "../support/axi_slave.h"
#include "../support/host_memory.h"
#include "../support/wide_bits.h"
#include "Vdingo_host.h"
#include "dingo_hw.h"

namespace {

using dingo::rtl::AxiSlave;
using dingo::rtl::AxiTiming;
using dingo::rtl::HostMemory;

constexpr unsigned kLines = 14, kReads = 2, kWrites = 5;
constexpr unsigned kLineW = 62, kReqW = 77, kBeatW = 521;
constexpr std::uint64_t kBase = 0x0000'7f12'3450'0000;
constexpr std::uint64_t kReadSize = 1 << 18, kWriteSize = 1 << 16;

/// Memory gives an error for one line in every fourth page.
constexpr std::uint64_t kBadEvery = 4 * 4096, kBadLine = 0x840;

bool is_bad(std::uint64_t address, unsigned bytes) {
    const std::uint64_t bad = address / kBadEvery * kBadEvery + kBadLine;
    return address < bad + 64 && bad < address + bytes;
}

struct Request {
    std::uint64_t address = 0;
    unsigned bytes = 0;
    bool bad = false;
    std::vector<std::uint8_t> data;  // of writes
};

class Host : public testing::TestWithParam<AxiTiming> {
  protected:
    void SetUp() override { start(GetParam()); }
    void start(const AxiTiming& timing) {
        slave = std::make_unique<AxiSlave>(memory.slave(dingo::rtl::axi_pins(dut), timing));
        dut.rst_ni = 0;
        cycle([] {});
        dut.rst_ni = 1;
    }

    /// One clock; `look` reads the settled outputs before the rising edge.
    template <class Look>
    void cycle(Look look) {
        dut.clk_i = 0;
        dut.eval();
        if (dut.rst_ni) {
            slave->sample();
        }
        look();
        dut.clk_i = 1;
        dut.eval();
        slave->drive();
        ++now;
    }

    unsigned pick(unsigned n) { return static_cast<unsigned>(random() % n); }
    bool chance(unsigned percent) { return pick(100) < percent; }

    /// A random request within a page, often at the edges of beats and pages.
    Request request(std::uint64_t base, std::uint64_t size) {
        Request r;
        const std::uint64_t page = base + pick(static_cast<unsigned>(size / 4096)) * 4096;
        const unsigned kind = pick(4);
        const unsigned low = kind == 0 ? 0 : kind == 1 ? pick(64) * 64 : pick(4096);
        const unsigned most = 4096 - low;
        r.address = page + low;
        r.bytes = kind == 0 && chance(50) ? 4096
                  : chance(60)            ? 1 + pick(std::min(most, 200u))
                                          : 1 + pick(most);
        return r;
    }

    void offer(std::uint8_t& valid, std::uint32_t* words, unsigned client, const Request& r) {
        valid |= static_cast<std::uint8_t>(1u << client);
        dingo::rtl::put_bits(words, client * kReqW, 64, r.address);
        dingo::rtl::put_bits(words, client * kReqW + 64, 13, r.bytes);
    }

    Vdingo_host dut;
    HostMemory memory{kBase, kReadSize + kWriteSize, 7};
    std::unique_ptr<AxiSlave> slave;
    std::mt19937 random{11};
    std::uint64_t now = 0;
};

TEST_P(Host, AnswersEveryClientInOrderWithTheRightBytes) {
    constexpr unsigned kEach = 600;
    for (std::uint64_t at = kBadLine; at < kReadSize + kWriteSize; at += kBadEvery) {
        slave->fail(kBase + at, 64);
    }
    HostMemory expected = memory;

    std::array<std::deque<Request>, kLines> lines;
    std::array<unsigned, kLines> lines_made{}, line_got{};
    std::array<bool, kLines> line_err{};
    std::array<std::deque<Request>, kReads> reads;
    std::array<unsigned, kReads> reads_made{}, read_got{};
    std::array<std::deque<Request>, kWrites> writing, awaited;
    std::array<Request, kWrites> next_write;
    std::array<unsigned, kWrites> writes_made{}, write_sent{};
    std::array<bool, kWrites> write_held{};
    std::uint64_t failures = 0, counted = 0;
    unsigned left = kEach * (kLines + kReads + kWrites);

    while ((left != 0 || !dut.idle_o) && now < 400'000) {
        for (unsigned c = 0; c < kLines; ++c) {
            if ((dut.line_valid_i >> c & 1) == 0 && lines_made[c] < kEach && chance(20)) {
                Request r;
                const std::uint64_t page = kBase + pick(kReadSize / 4096) * 4096;
                const unsigned low = pick(64);
                r.bytes = (1 + pick(std::min(64 - low, 8u))) * 64;
                r.address = page + low * 64;
                r.bad = is_bad(r.address, r.bytes);
                dingo::rtl::put_bits(&dut.line_i[0], c * kLineW, 58, r.address / 64);
                dingo::rtl::put_bits(&dut.line_i[0], c * kLineW + 58, 4, r.bytes / 64);
                dut.line_valid_i |= 1u << c;
                lines[c].push_back(r);
                ++lines_made[c];
                failures += r.bad;
            }
        }
        for (unsigned c = 0; c < kReads; ++c) {
            if ((dut.read_valid_i >> c & 1) == 0 && reads_made[c] < kEach && chance(50)) {
                reads[c].push_back(request(kBase, kReadSize));
                Request& r = reads[c].back();
                r.bad =
                    is_bad(r.address / 64 * 64, r.bytes + static_cast<unsigned>(r.address % 64));
                offer(dut.read_valid_i, &dut.read_i[0], c, reads[c].back());
                ++reads_made[c];
                failures += reads[c].back().bad;
            }
        }
        dut.read_rsp_ready_i = random() & 3;
        for (unsigned c = 0; c < kWrites; ++c) {
            if ((dut.write_valid_i >> c & 1) == 0 && writes_made[c] < kEach && chance(30)) {
                Request r = request(kBase + kReadSize, kWriteSize);
                r.bad = is_bad(r.address, r.bytes);
                for (unsigned i = 0; i < r.bytes; ++i) {
                    r.data.push_back(static_cast<std::uint8_t>(random()));
                }
                offer(dut.write_valid_i, &dut.write_i[0], c, r);
                next_write[c] = r;
                ++writes_made[c];
                failures += r.bad;
            }
            if (!write_held[c] && !writing[c].empty() && chance(90)) {
                const Request& r = writing[c].front();
                const unsigned n = std::min(64u, r.bytes - write_sent[c]);
                dingo::rtl::put_bytes(&dut.wdata_i[0], c * kBeatW,
                                      std::span(r.data).subspan(write_sent[c], n));
                dingo::rtl::put_bits(&dut.wdata_i[0], c * kBeatW + 512, 7, n);
                dingo::rtl::put_bits(&dut.wdata_i[0], c * kBeatW + 519, 2,
                                     write_sent[c] + n == r.bytes);
                write_held[c] = true;
            }
        }
        dut.wdata_valid_i = 0;
        for (unsigned c = 0; c < kWrites; ++c) {
            dut.wdata_valid_i |= static_cast<std::uint8_t>(write_held[c] << c);
        }
        dut.stat_ready_i = chance(30);

        std::uint32_t line_taken = 0, read_taken = 0, write_taken = 0;
        cycle([&] {
            line_taken = dut.line_valid_i & dut.line_ready_o;
            read_taken = dut.read_valid_i & dut.read_ready_o;
            write_taken = dut.write_valid_i & dut.write_ready_o;
            const std::uint32_t beat_taken = dut.wdata_valid_i & dut.wdata_ready_o;
            if (dut.stat_valid_o && dut.stat_ready_i) {
                ASSERT_EQ(dut.stat_o >> 16, unsigned{DINGO_CARD_DMA_ERRORS});
                counted += dut.stat_o & 0xffff;
            }
            for (unsigned c = 0; c < kLines; ++c) {
                if ((dut.line_rsp_valid_o >> c & 1) == 0) {
                    continue;
                }
                ASSERT_EQ(dut.line_rsp_valid_o, 1u << c);
                ASSERT_FALSE(lines[c].empty());
                const Request& r = lines[c].front();
                line_got[c] += 64;
                line_err[c] |= (dut.line_rsp_o[16] >> 1 & 1) != 0;
                ASSERT_EQ(dut.line_rsp_o[16] & 1, line_got[c] == r.bytes);
                if (!r.bad) {
                    ASSERT_EQ(
                        0, memcmp(&dut.line_rsp_o[0], memory.at(r.address + line_got[c] - 64), 64))
                        << "client " << c << " bytes " << r.bytes << " got " << line_got[c]
                        << std::hex << " at " << r.address;
                }
                if (line_got[c] == r.bytes) {
                    ASSERT_EQ(line_err[c], r.bad);
                    line_got[c] = 0;
                    line_err[c] = false;
                    lines[c].pop_front();
                    --left;
                }
            }
            for (unsigned c = 0; c < kReads; ++c) {
                if ((dut.read_rsp_valid_o & dut.read_rsp_ready_i & 1u << c) == 0) {
                    continue;
                }
                ASSERT_FALSE(reads[c].empty());
                const Request& r = reads[c].front();
                std::array<std::uint8_t, 64> data;
                dingo::rtl::get_bytes(&dut.read_rsp_o[0], c * kBeatW, data);
                const auto bytes = dingo::rtl::get_bits(&dut.read_rsp_o[0], c * kBeatW + 512, 7);
                const auto flags = dingo::rtl::get_bits(&dut.read_rsp_o[0], c * kBeatW + 519, 2);
                ASSERT_EQ(bytes, std::min(64u, r.bytes - read_got[c]));
                if (!r.bad) {
                    ASSERT_EQ(0, memcmp(data.data(), memory.at(r.address + read_got[c]), bytes));
                }
                read_got[c] += static_cast<unsigned>(bytes);
                const bool last = read_got[c] == r.bytes;
                ASSERT_EQ(flags, (last ? 1u : 0u) | (last && r.bad ? 2u : 0u));
                if (last) {
                    read_got[c] = 0;
                    reads[c].pop_front();
                    --left;
                }
            }
            for (unsigned c = 0; c < kWrites; ++c) {
                if ((dut.done_valid_o >> c & 1) != 0) {
                    ASSERT_FALSE(awaited[c].empty());
                    ASSERT_EQ(dut.done_err_o != 0, awaited[c].front().bad);
                    awaited[c].pop_front();
                    --left;
                }
                if ((beat_taken >> c & 1) != 0) {
                    write_held[c] = false;
                    write_sent[c] = std::min(write_sent[c] + 64, writing[c].front().bytes);
                    if (write_sent[c] == writing[c].front().bytes) {
                        write_sent[c] = 0;
                        writing[c].pop_front();
                    }
                }
                if ((write_taken >> c & 1) != 0) {  // memory gets writes in the order of acceptance
                    const Request& r = next_write[c];
                    writing[c].push_back(r);
                    awaited[c].push_back(r);
                    if (!r.bad) {
                        memcpy(expected.at(r.address), r.data.data(), r.bytes);
                    }
                }
            }
        });
        if (HasFatalFailure()) {
            FAIL() << "cycle " << now;
        }
        dut.line_valid_i &= ~line_taken;
        dut.read_valid_i &= static_cast<std::uint8_t>(~read_taken);
        dut.write_valid_i &= static_cast<std::uint8_t>(~write_taken);
    }
    EXPECT_EQ(left, 0u);
    EXPECT_TRUE(dut.idle_o);
    EXPECT_TRUE(slave->idle());
    EXPECT_GT(failures, 10u);
    EXPECT_EQ(counted, failures) << "CARD_DMA_ERRORS counts requests";
    EXPECT_TRUE(memory == expected);
    EXPECT_EQ(slave->violation(), "");
    if (GetParam().latency >= 100) {
        EXPECT_GE(slave->most_reads(), 32u);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Memory, Host,
    testing::Values(
        AxiTiming{.latency = 1}, AxiTiming{.latency = 3, .stall_percent = 40},
        AxiTiming{.latency = 20, .jitter = 100, .reorder = true, .seed = 2},
        AxiTiming{.latency = 100, .jitter = 300, .stall_percent = 20, .reorder = true, .seed = 3}));

class HostAlone : public Host {};
INSTANTIATE_TEST_SUITE_P(Memory, HostAlone, testing::Values(AxiTiming{.latency = 60}));

TEST_P(HostAlone, ReadsOfPagesRunAtOneBeatPerCycle) {
    constexpr unsigned kPages = 64;
    unsigned asked = 0, beats = 0;
    std::uint64_t first = 0;
    dut.read_rsp_ready_i = 3;
    while (beats < kPages * 64 && now < 20'000) {
        if ((dut.read_valid_i & 1) == 0 && asked < kPages) {
            offer(dut.read_valid_i, &dut.read_i[0], 0,
                  {.address = kBase + asked++ * 4096, .bytes = 4096, .data = {}});
        }
        bool taken = false;
        cycle([&] {
            taken = (dut.read_ready_o & 1) != 0;
            if ((dut.read_rsp_valid_o & 1) != 0) {
                first = first != 0 ? first : now;
                ++beats;
            }
        });
        if (taken) {
            dut.read_valid_i = 0;
        }
    }
    EXPECT_EQ(beats, kPages * 64);
    EXPECT_LE(now - first, kPages * 64 + 40) << "cycles";
}

TEST_P(HostAlone, WritesOfPagesRunAtOneBeatPerCycle) {
    constexpr unsigned kPages = 16;
    unsigned asked = 0, done = 0;
    for (unsigned i = 0; i < 64; ++i) {
        dingo::rtl::put_bits(&dut.wdata_i[0], 512, 7, 64);
    }
    unsigned beat = 0;
    while (done < kPages && now < 20'000) {
        if ((dut.write_valid_i & 1) == 0 && asked < kPages) {
            offer(dut.write_valid_i, &dut.write_i[0], 0,
                  {.address = kBase + kReadSize + asked++ * 4096, .bytes = 4096, .data = {}});
        }
        dut.wdata_valid_i = beat < kPages * 64;
        dingo::rtl::put_bits(&dut.wdata_i[0], 519, 1, beat % 64 == 63);
        bool taken = false;
        cycle([&] {
            taken = (dut.write_ready_o & 1) != 0;
            beat += dut.wdata_valid_i & dut.wdata_ready_o & 1;
            done += dut.done_valid_o & 1;
        });
        if (taken) {
            dut.write_valid_i = 0;
        }
    }
    EXPECT_EQ(done, kPages);
    EXPECT_LE(now, kPages * 64 + 60 + 40) << "cycles";
}

TEST_P(HostAlone, AClientThatDoesNotTakeItsAnswersDelaysNobody) {
    unsigned answered = 0;
    while (answered < 200 && now < 50'000) {
        for (unsigned c = 0; c < kReads; ++c) {
            if ((dut.read_valid_i >> c & 1) == 0) {
                offer(dut.read_valid_i, &dut.read_i[0], c, request(kBase, kReadSize));
            }
        }
        dut.read_rsp_ready_i = 2;
        unsigned taken = 0;
        cycle([&] {
            taken = dut.read_valid_i & dut.read_ready_o;
            answered += (dut.read_rsp_valid_o & 2) != 0 &&
                        dingo::rtl::get_bits(&dut.read_rsp_o[0], kBeatW + 519, 1);
        });
        dut.read_valid_i &= static_cast<std::uint8_t>(~taken);
    }
    EXPECT_EQ(answered, 200u);
}

}  // namespace
