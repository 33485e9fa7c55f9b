// SPDX-License-Identifier: BSD-2-Clause
//
// Host memory behind the dingo_host ports of dingo_cq and dingo_eq: writes with answers in order,
// reads of page-list lines; with random latency, stalls and bus errors.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <deque>
#include <set>
#include <unordered_map>

#include "bench.h"

namespace dingo::rtl {

/// A struct mem of the contract.
struct Mem {
    unsigned levels = 0;
    unsigned shift = 0;
    std::uint32_t offset = 0;
    std::uint64_t addr = 0;
    [[nodiscard]] Bits bits() const { return {{levels, 2}, {shift, 5}, {offset, 32}, {addr, 64}}; }
};

template <class Dut>
class HostPort {
  public:
    HostPort(Dut& dut, Dice& dice) : dut_(dut), dice_(dice) {}

    unsigned stall_percent = 0;
    unsigned latency = 1;               ///< answers come after less than so many cycles
    std::set<std::uint64_t> bad_lines;  ///< addresses of 64-byte lines that give bus errors

    /// Allocates a ring of `bytes` with 0 to 2 levels of page lists.
    Mem make_ring(unsigned levels, std::uint64_t bytes) {
        constexpr std::uint64_t kPage = 4096;
        Mem mem{levels, levels == 0 ? 0u : 12u, 0, 0};
        const std::uint64_t pages = (bytes + kPage - 1) / kPage;
        if (levels == 0) {
            mem.addr = take(pages * kPage);
            return mem;
        }
        const std::uint64_t list = take(kPage);
        for (std::uint64_t i = 0; i < pages; ++i) {
            take(dice_.below(3) * kPage);
            store(list + 8 * i, take(kPage), 8);
        }
        mem.addr = list;
        if (levels == 2) {
            mem.addr = take(kPage);
            store(mem.addr, list, 8);
        }
        return mem;
    }
    [[nodiscard]] std::uint64_t address(const Mem& mem, std::uint64_t off) {
        if (mem.levels == 0) {
            return mem.addr + mem.offset + off;
        }
        const std::uint64_t list = mem.levels == 2 ? load(mem.addr, 8) : mem.addr;
        return load(list + (off >> 12) * 8, 8) + off % 4096;
    }
    [[nodiscard]] std::uint64_t load(std::uint64_t address, unsigned bytes) {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < bytes; ++i) {
            value |= std::uint64_t{line(address + i)[(address + i) % 64]} << 8 * i;
        }
        return value;
    }
    void store(std::uint64_t address, std::uint64_t value, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i) {
            line(address + i)[(address + i) % 64] = static_cast<std::uint8_t>(value >> 8 * i);
        }
    }

    /// Sets the inputs of a cycle, before eval().
    void drive() {
        dut_.write_ready_i = !dice_.percent(stall_percent);
        dut_.wdata_ready_i = !requests_.empty() && !dice_.percent(stall_percent);
        dut_.line_ready_i = !dice_.percent(stall_percent);
        dut_.done_valid_i = !answers_.empty() && answers_.front().first == 0;
        dut_.done_err_i = dut_.done_valid_i && answers_.front().second;
        const bool line_due = !lines_.empty() && lines_.front().first == 0;
        dut_.line_rsp_valid_i = line_due;
        if (line_due) {
            const std::uint64_t at = lines_.front().second;
            Bits rsp;
            for (unsigned i = 0; i < 8; ++i) {
                rsp.add(load(at + 8 * i, 8), 64);
            }
            rsp.add(1, 1);
            rsp.add(bad_lines.contains(at), 1);
            rtl::drive(dut_.line_rsp_i, rsp);
        }
    }
    /// Takes the handshakes of a cycle, after eval().
    void sample() {
        if (dut_.done_valid_i) {
            answers_.pop_front();
        }
        if (dut_.line_rsp_valid_i) {
            lines_.pop_front();
        }
        for (auto& answer : answers_) {
            answer.first -= answer.first != 0;
        }
        for (auto& answer : lines_) {
            answer.first -= answer.first != 0;
        }
        if (dut_.wdata_valid_o && dut_.wdata_ready_i) {
            take_data();
        }
        if (dut_.write_valid_o && dut_.write_ready_i) {
            const Bits request = rtl::sample(dut_.write_o, 0, 77);
            requests_.push_back({request.get(0, 64), request.get(64, 13)});
        }
        if (dut_.line_valid_o && dut_.line_ready_i) {
            const std::uint64_t request = dut_.line_o;
            ASSERT_EQ(request >> 58, 1u);
            lines_.push_back({dice_.below(latency), (request & ((1ull << 58) - 1)) << 6});
        }
    }
    [[nodiscard]] bool idle() const {
        return requests_.empty() && answers_.empty() && lines_.empty();
    }
    [[nodiscard]] std::uint64_t writes() const { return writes_; }

  private:
    std::array<std::uint8_t, 64>& line(std::uint64_t address) { return memory_[address / 64]; }
    std::uint64_t take(std::uint64_t bytes) {
        const std::uint64_t at = next_;
        next_ += bytes;
        return at;
    }
    void take_data() {
        const auto [address, length] = requests_.front();
        requests_.pop_front();
        const Bits beat = rtl::sample(dut_.wdata_o, 0, 521);
        ASSERT_EQ(beat.get(512, 7), length);
        ASSERT_EQ(beat.get(519, 2), 1u) << "last, no error";
        ASSERT_LE(address % 4096 + length, 4096u);
        const bool bad = bad_lines.contains(address / 64 * 64);
        if (!bad) {
            for (unsigned i = 0; i < length; ++i) {
                store(address + i, beat.get(8 * i, 8), 1);
            }
        }
        ++writes_;
        const unsigned earliest = answers_.empty() ? 0 : answers_.back().first + 1;
        answers_.push_back({std::max(earliest, dice_.below(latency)), bad});
    }

    Dut& dut_;
    Dice& dice_;
    std::unordered_map<std::uint64_t, std::array<std::uint8_t, 64>> memory_;
    std::uint64_t next_ = 0x12'3450'0000;
    std::uint64_t writes_ = 0;
    std::deque<std::pair<std::uint64_t, std::uint64_t>> requests_;
    std::deque<std::pair<unsigned, bool>> answers_;
    std::deque<std::pair<unsigned, std::uint64_t>> lines_;
};

}  // namespace dingo::rtl
