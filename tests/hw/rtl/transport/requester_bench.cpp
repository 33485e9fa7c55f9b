// SPDX-License-Identifier: BSD-2-Clause
#include "requester_bench.h"

#include <gtest/gtest.h>

namespace dingo::rtl {

RequesterBench::Lookup RequesterBench::look_up() {
    const auto region = regions.find(dut.mr_key_o);
    if (region == regions.end())
        return {true, false, DINGO_VERR_KEY, 0, 0};
    const TestRegion& r = region->second;
    if ((r.access & dut.mr_access_o) != dut.mr_access_o)
        return {true, false, DINGO_VERR_KEY_ACCESS, 0, 0};
    if (dut.mr_va_o < r.iova || dut.mr_va_o + dut.mr_len_o > r.iova + r.length)
        return {true, false, DINGO_VERR_KEY_BOUNDS, 0, 0};
    return {true, !r.paused, 0, dut.mr_va_o - r.iova, r.addr, r.paused};
}

void RequesterBench::drive() {
    dut.now_ns_i = now;
    // valid stays until ready
    if (!dut.db_valid_i && !doorbells.empty() && !stall()) {
        dut.db_valid_i = 1;
        dut.db_qp_i = doorbells.front().first;
        dut.db_index_i = doorbells.front().second;
    }
    if (!dut.rxp_valid_i && !responses.empty() && !stall()) {
        const TestResponse& r = responses.front();
        dut.rxp_valid_i = 1;
        dut.rxp_qp_i = r.qp;
        dut.rxp_opcode_i = r.opcode;
        dut.rxp_psn_i = r.psn;
        dut.rxp_syndrome_i = r.syndrome;
        dut.rxp_word_i = r.word;
        dut.rxp_len_i = r.payload.size();
    }
    if (!commits.empty() && commits.front().wait > 0 && !hold_commits)
        --commits.front().wait;
    if (!dut.commit_valid_i && !commits.empty() && commits.front().wait == 0 && !hold_commits) {
        dut.commit_valid_i = 1;
        dut.commit_err_i = commits.front().err;
        std::memcpy(dut.commit_item_i.data(), commits.front().item.data(), 48);
    }
    if (!dut.txerr_valid_i && !reports.empty() && !stall()) {
        dut.txerr_valid_i = 1;
        dut.txerr_ok_i = reports.front().ok;
        dut.txerr_qp_i = reports.front().qp;
        dut.txerr_psn_i = reports.front().psn;
        dut.txerr_gen_i = reports.front().gen.value_or(generations[reports.front().qp]);
    }
    dut.txd_ready_i = !stall();
    dut.seg_ready_i = !stall();
    dut.inl_ready_i = !stall();
    dut.scat_ready_i = !stall();
    dut.cqe_ready_i = !stall();
    dut.ev_ready_i = !stall();
    dut.stat_ready_i = !stall();
    dut.qstat_ready_i = !stall();
    dut.wqe_ready_i = !stall();
    dut.line_ready_i = !stall();
    dut.scat_room_i = !stall();
    dut.wqe_rsp_valid_i = 0;
    dut.line_rsp_valid_i = 0;
    if (!lines_.empty() && lines_.front().wait > 0) {
        --lines_.front().wait;
    } else if (!lines_.empty() && !hold_lines && !stall()) {
        const Line line = lines_.front();
        lines_.pop_front();
        (line.wqe ? dut.wqe_rsp_valid_i : dut.line_rsp_valid_i) = 1;
        dut.rsp_err_i = line.err;
        dut.rsp_last_i = line.last;
        std::memcpy(dut.rsp_data_i.data(), memory.data() + line.addr % kMemory, 64);
    }
    if (!dut.mrw_valid_o)
        dut.mrw_done_i = 0;
    else if (!stall())
        dut.mrw_done_i = 1;
    dut.mrw_verr_i = work_verr;
    dut.mrw_under_way_i = work_under_way;
    const Lookup& found = lookups_.back();
    dut.mr_rsp_valid_i = found.valid;
    dut.mr_ok_i = found.ok;
    dut.mr_paused_i = found.paused;
    dut.mr_verr_i = found.verr;
    dut.mr_off_i = found.off;
    dut.mr_addr_i = found.addr;
}

void RequesterBench::packet_done() {
    if (packets.empty())  // the test has cleared the list
        open_ = 0;
    while (open_ < packets.size() && packets[open_].payload.size() == packets[open_].len) {
        packets[open_].whole = true;
        const TestPacket& packet = packets[open_++];
        if (packet.tell && tell)
            reports.push_back({true, packet.qp, packet.psn, packet.gen});
        if (on_packet)
            on_packet(packet);
    }
}

void RequesterBench::take() {
    done_ = dut.qpa_done_o;
    if (dut.db_valid_i && dut.db_ready_o) {
        doorbells.pop_front();
    }
    if (dut.rxp_valid_i && dut.rxp_ready_o) {
        scatter_.push_back(responses.front());
        responses.pop_front();
        most_open = std::max(most_open, scatter_.size());
    }
    if (dut.commit_valid_i && dut.commit_ready_o)
        commits.pop_front();
    if (dut.txerr_valid_i && dut.txerr_ready_o)
        reports.pop_front();
    bad_doorbells += dut.db_bad_o;
    if (dut.fail_valid_o)
        fails.push_back(dut.fail_qp_o);
    if (!dut.mrw_valid_o)
        asking_ = false;
    else if (!asking_) {
        asking_ = true;
        TestKeyWork work{dut.mrw_qp_o,  dut.mrw_pdn_o,
                         dut.mrw_op_o,  dut.mrw_privileged_o != 0,
                         dut.mrw_key_o, {}};
        std::memcpy(work.body.data(), dut.mrw_body_o.data(), work.body.size());
        works.push_back(work);
    }
    if (dut.state_we_o)
        qps[dut.state_index_o].state = dut.state_o;
    if (dut.txd_valid_o && dut.txd_ready_i) {
        TestPacket p{};
        p.qp = dut.txd_qp_o;
        p.opcode = dut.txd_opcode_o;
        p.psn = dut.txd_psn_o;
        p.dqpn = dut.txd_dqpn_o;
        p.len = dut.txd_len_o;
        p.va = dut.txd_va_o;
        p.gen = generations[p.qp] = dut.txd_gen_o;
        p.swap_add = dut.txd_swap_add_o;
        p.compare = dut.txd_compare_o;
        p.rkey = dut.txd_rkey_o;
        p.dma_len = dut.txd_dma_len_o;
        p.imm = dut.txd_imm_o;
        p.qkey = dut.txd_qkey_o;
        p.src_qpn = dut.txd_src_qpn_o;
        p.se = dut.txd_se_o;
        p.ackreq = dut.txd_ackreq_o;
        p.tell = dut.txd_tell_o;
        p.from_rsp = dut.txd_from_rsp_o;
        p.inl = dut.txd_inl_o;
        p.hop = dut.txd_hop_o;
        packets.push_back(p);
        if (p.len > 0)
            (p.inl ? filling_inl_ : filling_seg_).push_back(packets.size() - 1);
    }
    // Segments and inline beats may come ahead of their packets: they are kept until those come.
    if (dut.seg_valid_o && dut.seg_ready_i) {
        segments_.push_back({dut.seg_addr_o + dut.seg_off_o, dut.seg_len_o, dut.seg_last_o != 0});
    }
    if (dut.inl_valid_o && dut.inl_ready_i) {
        std::vector<std::uint8_t> bytes(dut.inl_bytes_o);
        std::memcpy(bytes.data(), dut.inl_data_o.data(), bytes.size());
        beats_.push_back({bytes, dut.inl_last_o != 0});
    }
    while (!segments_.empty() && !filling_seg_.empty()) {
        const Segment s = segments_.front();
        segments_.pop_front();
        TestPacket& p = packets[filling_seg_.front()];
        for (std::uint64_t i = 0; i < s.bytes; ++i)
            p.payload.push_back(memory[(s.addr + i) % kMemory]);
        EXPECT_EQ(s.last, p.payload.size() == p.len);
        if (s.last)
            filling_seg_.pop_front();
    }
    while (!beats_.empty() && !filling_inl_.empty()) {
        TestPacket& p = packets[filling_inl_.front()];
        p.payload.insert(p.payload.end(), beats_.front().first.begin(), beats_.front().first.end());
        EXPECT_EQ(beats_.front().second, p.payload.size() == p.len);
        if (beats_.front().second)
            filling_inl_.pop_front();
        beats_.pop_front();
    }
    if (dut.scat_valid_o && dut.scat_ready_i) {
        ASSERT_FALSE(scatter_.empty());
        const TestResponse& r = scatter_.front();
        EXPECT_EQ(dut.scat_payload_o != 0, !r.payload.empty());
        if (dut.scat_op_o == 0) {
            const auto& data = front_.empty() ? r.payload : front_;
            ASSERT_LE(scattered_ + dut.scat_len_o, data.size());
            for (std::uint32_t i = 0; i < dut.scat_len_o; ++i)
                memory[(dut.scat_addr_o + dut.scat_off_o + i) % kMemory] = data[scattered_++];
        } else if (dut.scat_op_o == 1) {  // SCAT_GRH: segments take what they need of the 40 bytes
            front_.resize(40);
            std::memcpy(front_.data(), dut.scat_item_o.data(), front_.size());
        } else {
            EXPECT_EQ(dut.scat_op_o, 2);
            Commit commit{};
            std::memcpy(commit.item.data(), dut.scat_item_o.data(), 48);
            commit.err = r.err && scattered_ > 0;
            commit.wait = hold_commits ? 0 : random_() % 20;
            commits.push_back(commit);
            scatter_.pop_front();
            scattered_ = 0;
            front_.clear();
        }
    }
    if (dut.cqe_valid_o && dut.cqe_ready_i) {
        EXPECT_EQ(dut.cqe_cq_o, 33);
        cqes.push_back({dut.cqe_qp_o, dut.cqe_index_o, dut.cqe_byte_len_o,
                        static_cast<std::uint8_t>(dut.cqe_qpn_op_o >> 24), dut.cqe_status_o,
                        dut.cqe_verr_o});
        EXPECT_EQ(dut.cqe_qpn_op_o & 0xFFFFFF, 0x5A0000U | dut.cqe_qp_o);
    }
    if (dut.ev_valid_o && dut.ev_ready_i)
        events.push_back({dut.ev_kind_o, dut.ev_id_o});
    if (dut.stat_valid_o && dut.stat_ready_i)
        ++card[dut.stat_idx_o];
    if (dut.qstat_valid_o && dut.qstat_ready_i)
        ++counters[dut.qstat_idx_o];
    const auto read = [&](bool wqe, std::uint64_t addr, unsigned count) {
        EXPECT_LE(addr % 4096 + count * 64, 4096U);
        for (unsigned i = 0; i < count; ++i, addr += 64)
            lines_.push_back({wqe, addr / 4096 == kBadPage / 4096, i + 1 == count, addr,
                              i == 0 ? static_cast<unsigned>(random_() % (line_wait + 1)) : 0});
    };
    if (dut.wqe_valid_o && dut.wqe_ready_i) {
        ++fills;
        fill_lines += dut.wqe_lines_o;
        read(true, dut.wqe_addr_o << 6, dut.wqe_lines_o);
    }
    if (dut.line_valid_o && dut.line_ready_i)
        read(false, dut.line_addr_o << 6, dut.line_lines_o);
}

void RequesterBench::tick() {
    drive();
    dut.clk_i = 0;
    dut.eval();
    const bool asked = dut.qp_re_o;
    const auto which = static_cast<std::uint16_t>(dut.qp_raddr_o);
    const bool db_taken = dut.db_valid_i && dut.db_ready_o;
    const bool rxp_taken = dut.rxp_valid_i && dut.rxp_ready_o;
    const bool commit_taken = dut.commit_valid_i && dut.commit_ready_o;
    const bool report_taken = dut.txerr_valid_i && dut.txerr_ready_o;
    const Lookup lookup = dut.mr_valid_o ? look_up() : Lookup{};
    if (dut.rst_ni)
        take();
    now += 4;
    dut.clk_i = 1;
    dut.eval();
    if (db_taken)
        dut.db_valid_i = 0;
    if (rxp_taken)
        dut.rxp_valid_i = 0;
    if (commit_taken)
        dut.commit_valid_i = 0;
    if (report_taken)
        dut.txerr_valid_i = 0;
    dut.cq_fail_valid_i = 0;
    dut.fail_valid_i = 0;
    lookups_ = {lookup, lookups_[0], lookups_[1]};
    if (asked)
        show(which);
    packet_done();
}

}  // namespace dingo::rtl
