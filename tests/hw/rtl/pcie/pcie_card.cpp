// SPDX-License-Identifier: BSD-2-Clause
#include "pcie_card.h"

#include <algorithm>

namespace dingo::rtl {

PcieBench::PcieBench(const CoreTiming& timing)
    : core(std::make_unique<PcieCore>(dut, timing)), random(timing.seed + 77) {
    core->on_read = [this](std::uint64_t address, unsigned bytes, bool bad) {
        asked(address, bytes, bad);
    };
    dut.card_ready_i = 1;
    dut.cfg_msix_enable_i = 1;
    dut.s_axi_bready_i = 1;
    dut.rst_ni = 0;
    for (int i = 0; i < 4; ++i) {
        dut.clk_i = 0;
        dut.eval();
        dut.clk_i = 1;
        dut.eval();
    }
    dut.rst_ni = 1;
    for (int i = 0; i < 600; ++i) {  // until the tags are filled and Device Control is read
        cycle();
    }
}

void PcieBench::fill(std::uint64_t address, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) {
        core->byte(address + i) = pattern(address + i);
    }
}

/// A read request has arrived at the core: it must be the next one of the oldest burst.
void PcieBench::asked(std::uint64_t address, unsigned bytes, bool failed_read) {
    if (order_.empty()) {
        fault("a read that nobody wanted");
        return;
    }
    auto& queue = bursts_[order_.front().first];
    auto burst = std::find_if(queue.begin(), queue.end(),
                              [&](const Burst& b) { return b.serial == order_.front().second; });
    const unsigned most = std::min(core->timing.mrrs, 512u);
    const unsigned left = (burst->lines - burst->asked) * 64;
    if (address != burst->address + 64 * burst->asked || bytes != std::min(left, most)) {
        fault("a read is not the next of its burst");
    }
    for (unsigned i = 0; i < bytes / 64; ++i) {
        std::array<std::uint8_t, 64> line;
        for (unsigned b = 0; b < 64; ++b) {
            line[b] = core->byte(address + 64 * i + b);
        }
        burst->data.push_back(line);
        burst->bad.push_back(failed_read);
    }
    burst->asked += bytes / 64;
    if (burst->asked == burst->lines) {
        order_.pop_front();
    }
}

void PcieBench::write(std::uint64_t address, unsigned bytes, unsigned given) {
    aws_.push_back(address & ~63ull);
    for (std::uint64_t line = address & ~63ull; line < address + bytes; line += 64) {
        W w;
        for (unsigned i = 0; i < 64; ++i) {
            const auto value = static_cast<std::uint8_t>(random());
            w.data[i / 4] |= std::uint32_t{value} << 8 * (i % 4);
            if (line + i >= address && line + i < address + given) {
                w.strobes |= 1ull << i;
                expected[line + i] = value;
            }
        }
        w.last = line + 64 >= address + bytes;
        ws_.push_back(w);
    }
}

void PcieBench::take_answer() {
    auto& queue = bursts_[dut.s_axi_rid_o];
    if (queue.empty()) {
        fault("an answer that nobody waits for");
        return;
    }
    Burst& b = queue.front();
    if (b.next >= b.asked) {
        fault("an answer before its read");
        return;
    }
    overtaken += b.serial != oldest_;
    const bool bad = b.bad[b.next];
    if (dut.s_axi_rresp_o != (bad ? 2 : 0)) {
        fault(bad ? "a failed read is answered as good" : "a good read is answered as failed");
    }
    if (!bad && !std::equal(b.data[b.next].begin(), b.data[b.next].end(),
                            reinterpret_cast<const std::uint8_t*>(&dut.s_axi_rdata_o[0]))) {
        fault("wrong data");
    }
    failed += bad;
    ++beats;
    first_r = first_r ? first_r : now;
    last_r = now;
    if (dut.s_axi_rlast_o != (b.next + 1 == b.lines)) {
        fault("rlast");
    }
    if (++b.next == b.lines) {
        queue.pop_front();
        ++answered;
        oldest_ = serial_;
        for (const auto& q : bursts_) {
            if (!q.empty()) {
                oldest_ = std::min(oldest_, q.front().serial);
            }
        }
    }
}

void PcieBench::sample() {
    core->sample();
    if (dut.s_axi_arvalid_i && dut.s_axi_arready_o) {
        const Ar& ar = ars_.front();
        bursts_[ar.id].push_back(
            {.address = ar.address, .serial = serial_, .lines = ar.lines, .data = {}, .bad = {}});
        order_.emplace_back(ar.id, serial_++);
        ars_.pop_front();
        taken_.ar = true;
    }
    if (dut.s_axi_rvalid_o && dut.s_axi_rready_i) {
        take_answer();
    }
    if (dut.s_axi_awvalid_i && dut.s_axi_awready_o) {
        aws_.pop_front();
        taken_.aw = true;
        ++owed_b_;
    }
    if (dut.s_axi_wvalid_i && dut.s_axi_wready_o) {
        ws_.pop_front();
        taken_.w = true;
    }
    if (dut.s_axi_bvalid_o && dut.s_axi_bready_i) {
        if (owed_b_ == 0) {
            fault("an answer to no write");
        }
        --owed_b_;
        ++b_seen;
        if (on_b) {
            on_b();
        }
    }
    if (dut.msix_valid_i && dut.msix_ready_o) {
        vectors_.pop_front();
        taken_.irq = true;
    }
    // AXI4-Lite
    const auto port = [this](unsigned p, bool aw, unsigned address, bool w, std::uint64_t data,
                             unsigned strobes, bool b, bool ar, unsigned ar_address) {
        if (aw) {
            have_aw_[p] = true;
            lite_[p].address = address;
        }
        if (w) {
            have_w_[p] = true;
            lite_[p].data = data;
            lite_[p].strobes = strobes;
        }
        owed_lite_b_[p] -= b;
        if (have_aw_[p] && have_w_[p]) {
            lite_[p].port = p;
            writes.push_back(lite_[p]);
            if (p == 0) {
                std::uint64_t& r = registers[lite_[p].address & ~7u];
                for (unsigned i = 0; i < 8; ++i) {
                    if (lite_[p].strobes >> i & 1) {
                        r = (r & ~(0xffull << 8 * i)) | (lite_[p].data & 0xffull << 8 * i);
                    }
                }
            }
            have_aw_[p] = have_w_[p] = false;
            ++owed_lite_b_[p];
        }
        if (ar) {
            read_due_[p] = 1 + random() % 5;
            read_at_[p] = ar_address;
            if (owed_lite_b_[0] + owed_lite_b_[1] != 0) {
                fault("a read passes a write of the host");
            }
        }
    };
    port(0, dut.m_reg_awvalid_o && dut.m_reg_awready_i, dut.m_reg_awaddr_o,
         dut.m_reg_wvalid_o && dut.m_reg_wready_i, dut.m_reg_wdata_o, dut.m_reg_wstrb_o,
         dut.m_reg_bvalid_i && dut.m_reg_bready_o, dut.m_reg_arvalid_o && dut.m_reg_arready_i,
         dut.m_reg_araddr_o);
    port(1, dut.m_db_awvalid_o && dut.m_db_awready_i, dut.m_db_awaddr_o,
         dut.m_db_wvalid_o && dut.m_db_wready_i, dut.m_db_wdata_o, dut.m_db_wstrb_o,
         dut.m_db_bvalid_i && dut.m_db_bready_o, dut.m_db_arvalid_o && dut.m_db_arready_i,
         dut.m_db_araddr_o);
}

void PcieBench::drive() {
    core->drive();
    dut.s_axi_arvalid_i &= !taken_.ar;
    dut.s_axi_awvalid_i &= !taken_.aw;
    dut.s_axi_wvalid_i &= !taken_.w;
    dut.msix_valid_i &= !taken_.irq;
    taken_ = {};
    if (!ars_.empty() && (dut.s_axi_arvalid_i || moves())) {
        dut.s_axi_arvalid_i = 1;
        dut.s_axi_arid_i = static_cast<std::uint8_t>(ars_.front().id);
        dut.s_axi_araddr_i = ars_.front().address;
        dut.s_axi_arlen_i = static_cast<std::uint8_t>(ars_.front().lines - 1);
    }
    dut.s_axi_rready_i = moves();
    dut.s_axi_bready_i = moves();
    if (!aws_.empty() && (dut.s_axi_awvalid_i || moves())) {
        dut.s_axi_awvalid_i = 1;
        dut.s_axi_awaddr_i = aws_.front();
    }
    if (!ws_.empty() && (dut.s_axi_wvalid_i || moves())) {
        const W& w = ws_.front();
        dut.s_axi_wvalid_i = 1;
        std::copy(w.data.begin(), w.data.end(), &dut.s_axi_wdata_i[0]);
        dut.s_axi_wstrb_i = w.strobes;
        dut.s_axi_wlast_i = w.last;
    }
    if (!vectors_.empty()) {
        dut.msix_valid_i = 1;
        dut.msix_vector_i = static_cast<std::uint8_t>(vectors_.front());
    }
    dut.m_reg_awready_i = !have_aw_[0] && moves();
    dut.m_reg_wready_i = !have_w_[0] && moves();
    dut.m_reg_bvalid_i = owed_lite_b_[0] && !hold_lite_b && (dut.m_reg_bvalid_i || moves());
    dut.m_reg_arready_i = moves();
    dut.m_reg_rvalid_i = read_due_[0] == 1;
    dut.m_reg_rdata_i = registers[read_at_[0] & ~7u];
    dut.m_db_awready_i = !have_aw_[1] && moves();
    dut.m_db_wready_i = !have_w_[1] && moves();
    dut.m_db_bvalid_i = owed_lite_b_[1] && !hold_lite_b && (dut.m_db_bvalid_i || moves());
    dut.m_db_arready_i = moves();
    dut.m_db_rvalid_i = read_due_[1] == 1;
    dut.m_db_rdata_i = 0x0123'4567'89ab'cdef;
    for (auto& due : read_due_) {
        due -= due != 0;
    }
}

void PcieBench::cycle() {
    dut.clk_i = 0;
    dut.eval();
    sample();
    dut.clk_i = 1;
    dut.eval();
    drive();
    ++now;
    if (wrong.empty()) {
        wrong = core->violation();
    }
}

void PcieBench::settle(unsigned most) {
    for (unsigned i = 0, quiet = 0; i < most && quiet < 200 && wrong.empty(); ++i) {
        cycle();
        const bool busy =
            waits() || !core->idle() || owed_b_ || !ws_.empty() || !vectors_.empty() ||
            !order_.empty() ||
            std::any_of(bursts_.begin(), bursts_.end(), [](const auto& q) { return !q.empty(); });
        quiet = busy ? 0 : quiet + 1;
        if (i + 1 == most) {
            fault("something hangs");
        }
    }
}

}  // namespace dingo::rtl
