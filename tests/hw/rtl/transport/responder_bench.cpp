// SPDX-License-Identifier: BSD-2-Clause
#include "responder_bench.h"

#include "dingo_hw.h"

namespace bench {

namespace {
constexpr unsigned kMrLatency = 4;
constexpr unsigned kGrhBytes = 40;
}  // namespace

Bench::Bench(const Options& options) : options_(options), random_(options.seed) {
    reset();
}

void Bench::reset() {
    dut.rst_ni = 0;
    for (int i = 0; i < 3; ++i)
        cycle();
    dut.rst_ni = 1;
    settle();
}

void Bench::forget() {
    packets_.clear();
    doorbells_.clear();
    tx_errors_.clear();
    cq_fails_.clear();
    fails_.clear();
    lookups_.clear();
    reads_.clear();
    commits_.clear();
    cqes_due_.clear();
    segs_.clear();
    grh_.clear();
    atomic_.reset();
    taken_ = 0;
    work_at_ = 0;
    db_up_ = rxp_up_ = txerr_up_ = room_seen_ = false;
}

void Bench::create_rc(unsigned index, unsigned log_rq, unsigned log_stride) {
    rtl::Qp& entry = qps_[index];
    entry = {};
    entry.state = DINGO_QPS_RTS;
    rtl::QpCfg& c = entry.cfg;
    c.valid = true;
    c.tag = static_cast<std::uint8_t>(0x40 + index);
    c.kind = DINGO_QPT_RC;
    c.pdn = 7;
    c.recv_cq = static_cast<std::uint16_t>(index);
    c.log_rq = static_cast<std::uint8_t>(log_rq);
    c.log_rq_stride = static_cast<std::uint8_t>(log_stride);
    c.rq.addr = ring_address(index);
    c.rq_psn = 1000 * index;
    c.dest_qpn = 0x123400 + index;
    c.access = DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_ATOMIC;
    c.path_mtu = 1;
    c.max_dest_rd = 4;
    c.min_rnr_timer = 12;
    c.dgid = {1, 2, 3, index};
    c.dmac = 0x0a0b0c0d0e0fULL;
    c.sgid = 3;
    c.udp_sport = 0xc123;
    c.sl = 2;
    rtl::QpaReq request;
    request.qp = static_cast<std::uint16_t>(index);
    request.op = rtl::kQpaClear;
    command(request);
    request.op = rtl::kQpaModify;
    request.mask = DINGO_QPM_STATE | DINGO_QPM_RQ_PSN | DINGO_QPM_MAX_DEST_RD_ATOMIC;
    request.ctx = entry;
    request.old_state = DINGO_QPS_INIT;
    command(request);
    written_[index] = 0;
}

void Bench::create_uc(unsigned index, unsigned log_rq, unsigned log_stride) {
    create_rc(index, log_rq, log_stride);
    qps_[index].cfg.kind = DINGO_QPT_UC;
}

void Bench::create_ud(unsigned index, unsigned log_rq, unsigned log_stride) {
    create_rc(index, log_rq, log_stride);
    qps_[index].cfg.kind = DINGO_QPT_UD;
    qps_[index].cfg.qkey = 0x11111111;
}

void Bench::create_srq(unsigned srq, unsigned log_size, unsigned log_stride, std::uint32_t limit,
                       std::uint16_t pdn) {
    srqs_[srq] = {log_size, log_stride, 0, pdn};
    srq_command(srq, rtl::kSrqaCreate, limit);
}

void Bench::share(unsigned qp, unsigned srq) {
    const Srq& from = srqs_[srq];
    rtl::QpCfg& c = qps_[qp].cfg;
    c.has_srq = true;
    c.srq = static_cast<std::uint8_t>(srq);
    c.srq_pdn = from.pdn;
    c.log_rq = static_cast<std::uint8_t>(from.log_size);
    c.log_rq_stride = static_cast<std::uint8_t>(from.log_stride);
    c.rq.addr = srq_address(srq, 0);
}

rtl::SrqInfo Bench::srq_command(unsigned srq, rtl::SrqaOp op, std::uint32_t limit) {
    rtl::SrqaReq request;
    request.op = op;
    request.srq = static_cast<std::uint8_t>(srq);
    request.log_size = static_cast<std::uint8_t>(srqs_[srq].log_size);
    request.limit = static_cast<std::uint16_t>(limit);
    rtl::drive(dut.srqa_i, request);
    dut.srqa_valid_i = 1;
    srqa_done_ = false;
    cycle();
    dut.srqa_valid_i = 0;
    for (int i = 0; i < 1000 && !srqa_done_; ++i)
        cycle();
    if (!srqa_done_)
        errors.emplace_back("a command about an SRQ got no answer");
    return srq_info_;
}

std::uint64_t Bench::srq_address(unsigned srq, std::uint32_t index) const {
    const Srq& s = srqs_.at(srq);
    return 0x4000000ULL + 0x100000ULL * srq +
           (std::uint64_t{index & ((1U << s.log_size) - 1)} << s.log_stride);
}

void Bench::write_srq(unsigned srq, std::uint32_t tag, const std::vector<Sge>& sges,
                      std::uint16_t rsvd) {
    write_entry(srq_address(srq, srqs_[srq].written++), tag, sges, rsvd);
}

void Bench::write_wqe(unsigned qp, std::uint32_t tag, const std::vector<Sge>& sges,
                      std::uint16_t rsvd) {
    const rtl::QpCfg& c = qps_[qp].cfg;
    const std::uint64_t offset = std::uint64_t{written_[qp] & ((1U << c.log_rq) - 1)}
                                 << c.log_rq_stride;
    const std::uint64_t at =
        c.rq.levels == 0 ? c.rq.addr + offset : ring_address(qp) + (offset ^ 0x1000);
    write_entry(at, tag, sges, rsvd);
    ++written_[qp];
}

void Bench::write_entry(std::uint64_t at, std::uint32_t tag, const std::vector<Sge>& sges,
                        std::uint16_t rsvd) {
    std::vector<std::uint32_t> words = {
        tag, static_cast<std::uint32_t>(sges.size()) | std::uint32_t{rsvd} << 16, 0, 0};
    for (const Sge& sge : sges)
        words.insert(words.end(),
                     {static_cast<std::uint32_t>(sge.addr),
                      static_cast<std::uint32_t>(sge.addr >> 32), sge.lkey, sge.length});
    for (std::size_t i = 0; i < words.size(); ++i)
        lines_[(at + 4 * i) / 64][(at + 4 * i) % 64 / 4] = words[i];
}

void Bench::page_ring(unsigned qp) {
    rtl::Xmem& rq = qps_[qp].cfg.rq;
    rq.levels = 1;
    rq.shift = 12;
    rq.addr = list_address(qp);
    std::array<std::uint32_t, 16>& list = lines_[rq.addr / 64];
    list[0] = static_cast<std::uint32_t>(ring_address(qp) + 0x1000);
    list[2] = static_cast<std::uint32_t>(ring_address(qp));
}

void Bench::doorbell(unsigned qp, std::uint32_t index) {
    doorbells_.push_back({{0, static_cast<std::uint16_t>(qp), index}, false});
}

void Bench::srq_doorbell(unsigned srq, std::uint32_t index) {
    doorbells_.push_back({{0, static_cast<std::uint16_t>(srq), index}, true});
}

void Bench::packet(unsigned qp, rtl::Rxh h, const Bytes& payload) {
    rtl::Rxp p;
    p.qp = static_cast<std::uint16_t>(qp);
    p.h = h;
    p.h.len = static_cast<std::uint16_t>(payload.size());
    p.h.dqpn = qpn(qp);
    packets_.emplace_back(p, payload);
}

void Bench::tx_error(unsigned qp, std::uint32_t psn) {
    tx_errors_.push_back({false, generations_[qp], static_cast<std::uint16_t>(qp), psn});
}

void Bench::requester_failed(unsigned qp) {
    qps_[qp].state = DINGO_QPS_ERR;
    fails_.push_back(qp);
}

void Bench::resume_region(std::uint32_t key, std::uint64_t base) {
    regions_[key].paused = false;
    regions_[key].base = base;
    resume();
}

void Bench::resume() {
    dut.resume_i = 1;
    cycle();
    dut.resume_i = 0;
}

rtl::RspInfo Bench::command(rtl::QpaReq request) {
    rtl::drive(dut.qpa_i, request);
    dut.qpa_valid_i = 1;
    qpa_done_ = false;
    cycle();
    dut.qpa_valid_i = 0;
    for (int i = 0; i < 1000 && !qpa_done_; ++i)
        cycle();
    if (!qpa_done_)
        errors.emplace_back("a command got no answer");
    return info_;
}

rtl::RspInfo Bench::query(unsigned qp) {
    rtl::QpaReq request;
    request.qp = static_cast<std::uint16_t>(qp);
    request.op = rtl::kQpaQuery;
    request.ctx = qps_[qp];
    return command(request);
}

rtl::MrRsp Bench::look_up(const rtl::MrReq& request) const {
    rtl::MrRsp rsp;
    const auto it = regions_.find(request.key);
    if (it == regions_.end()) {
        rsp.verr = DINGO_VERR_KEY;
        return rsp;
    }
    const Region& r = it->second;
    if (r.pdn != request.pdn)
        rsp.verr = DINGO_VERR_KEY_PD;
    else if ((r.access & request.access) != request.access || (r.qp != 0 && r.qp != request.qp))
        rsp.verr = DINGO_VERR_KEY_ACCESS;
    else if (request.va < r.iova || request.va - r.iova > r.length ||
             request.len > r.length - (request.va - r.iova))
        rsp.verr = DINGO_VERR_KEY_BOUNDS;
    else if (r.paused)
        rsp.paused = true;
    else
        rsp.ok = true;
    rsp.off = request.va - r.iova;
    rsp.mem.addr = r.base;
    return rsp;
}

rtl::MrwRsp Bench::invalidate(const rtl::MrwReq& request) {
    rtl::MrwRsp rsp;
    const auto it = regions_.find(request.key);
    if (it == regions_.end())
        rsp.verr = DINGO_VERR_KEY;
    else if (it->second.pdn != request.pdn)
        rsp.verr = DINGO_VERR_KEY_PD;
    else if (!it->second.window || (it->second.qp != 0 && it->second.qp != request.qp))
        rsp.verr = DINGO_VERR_KEY_ACCESS;
    else
        regions_.erase(it);
    return rsp;
}

/// What dingo_compute_receive needs of every order of a packet.
void Bench::check_order(const rtl::Scat& order) {
    if (taken_ == 0)
        return;
    const rtl::Rxp& packet = packets_.front().first;
    if (order.has_payload != !packets_.front().second.empty())
        errors.emplace_back("has_payload is wrong");
    if (!order.to_rsp)
        errors.emplace_back("an order of the requester");
    if (!order.has_payload || order.op == rtl::kScatEnd)
        return;
    if (order.qp != packet.qp)
        errors.emplace_back("an order of another QP");
    const unsigned op = packet.h.opcode & 0x1f;
    const bool middle = op == 1 || op == 2 || op == 3 || op == 0x16 ||  // SEND
                        (op >= 7 && op <= 9);                           // WRITE
    if (!middle)
        first_psns_[packet.qp] = packet.h.psn;
    const std::uint32_t before = (packet.h.psn - first_psns_[packet.qp]) & 0xff'ffff;
    if (order.offset != before * (128u << qps_[packet.qp].cfg.path_mtu))
        errors.emplace_back("an offset that is not the packet's");
}

void Bench::take_scatter(const rtl::Scat& order) {
    check_order(order);
    if (order.op == rtl::kScatSeg) {
        if (order.seg.len == 0)
            errors.emplace_back("a segment of 0 bytes");
        segs_.push_back(order.seg);
        return;
    }
    if (order.op == rtl::kScatGrh) {
        for (unsigned i = 0; i < kGrhBytes; ++i)
            grh_.push_back(static_cast<std::uint8_t>(order.item[i / 4] >> (i % 4 * 8)));
        return;
    }
    if (order.op == rtl::kScatAtomic) {
        if (order.seg.len != 8 || atomic_)
            errors.emplace_back("an atomic that is not one of 8 bytes");
        atomic_ = order;
        return;
    }
    // END of the oldest packet that was taken
    if (taken_ == 0) {
        errors.emplace_back("an END without a packet");
        return;
    }
    Bytes payload = packets_.front().second;
    payload.insert(payload.begin(), grh_.begin(), grh_.end());
    Late late;
    late.at = now_ + (options_.commit_delay ? random_() % options_.commit_delay : 0);
    if (!commits_.empty() && commits_.back().at > late.at)
        late.at = commits_.back().at;
    late.no_item = order.no_item;
    late.commit.item = order.item;
    late.packet = packet_count_++;
    std::size_t at = 0;
    for (const rtl::Seg& seg : segs_) {
        const std::uint64_t to = seg.mem.addr + seg.off;
        if (to < bad_bytes.second && to + seg.len > bad_bytes.first)
            late.commit.err = true;
        for (std::uint32_t i = 0; i < seg.len; ++i) {
            if (at == payload.size()) {
                errors.emplace_back("segments are longer than the payload");
                break;
            }
            late.bytes[to + i] = payload[at++];
        }
    }
    if (atomic_) {
        // Writes before the atomic are done before it, so the word includes their bytes.
        const std::uint64_t to = atomic_->seg.mem.addr + atomic_->seg.off;
        std::uint64_t word = 0;
        for (unsigned i = 0; i < 8; ++i) {
            std::uint8_t byte = memory.contains(to + i) ? memory.at(to + i) : 0;
            for (const Late& earlier : commits_)
                if (const auto found = earlier.bytes.find(to + i); found != earlier.bytes.end())
                    byte = found->second;
            word |= std::uint64_t{byte} << 8 * i;
        }
        const auto item64 = [&](unsigned word_index) {
            return atomic_->item[word_index] | std::uint64_t{atomic_->item[word_index + 1]} << 32;
        };
        const std::uint64_t compare = item64(0), swap_add = item64(2);
        const bool swap = (atomic_->item[4] & 1) != 0;
        late.commit.err = to < bad_bytes.second && to + 8 > bad_bytes.first;
        late.commit.word = word;
        if (!late.commit.err && (!swap || word == compare))
            for (unsigned i = 0; i < 8; ++i)
                late.bytes[to + i] =
                    static_cast<std::uint8_t>((swap ? swap_add : word + swap_add) >> 8 * i);
        atomic_.reset();
    }
    segs_.clear();
    grh_.clear();
    packets_.pop_front();
    --taken_;
    commits_.push_back(late);
}

void Bench::cycle() {
    dut.clk_i = 0;
    // inputs
    dut.halt_tx_i = halt_tx;
    dut.gid_valid_i = gid_valid;
    rtl::drive(dut.qp_rdata_i, qp_rdata_);
    if (!db_up_ && !doorbells_.empty() && chance(50)) {
        db_up_ = true;
        rtl::drive(dut.db_i, doorbells_.front().first);
        dut.db_srq_i = doorbells_.front().second;
    }
    dut.db_valid_i = db_up_;
    if (!rxp_up_ && taken_ < packets_.size() && chance(options_.ready)) {
        rxp_up_ = true;
        rtl::Rxp p = packets_[taken_].first;
        p.ctx = qps_[p.qp];
        rtl::drive(dut.rxp_i, p);
    }
    dut.rxp_valid_i = rxp_up_;
    if (!txerr_up_ && !tx_errors_.empty()) {
        txerr_up_ = true;
        rtl::drive(dut.txerr_i, tx_errors_.front());
    }
    dut.txerr_valid_i = txerr_up_;
    dut.cq_fail_valid_i = !cq_fails_.empty();
    if (!cq_fails_.empty()) {
        dut.cq_fail_qp_i = static_cast<CData>(cq_fails_.front());
        cq_fails_.pop_front();
    }
    dut.cqe_done_i = !cqes_due_.empty() && cqes_due_.front() <= now_;
    if (dut.cqe_done_i)
        cqes_due_.pop_front();
    dut.fail_valid_i = !fails_.empty();
    if (!fails_.empty()) {
        dut.fail_qp_i = static_cast<CData>(fails_.front());
        fails_.pop_front();
    }
    while (!halt_commits && !commits_.empty() && commits_.front().at <= now_ &&
           commits_.front().no_item)
        commits_.pop_front();
    dut.commit_valid_i = !halt_commits && !commits_.empty() && commits_.front().at <= now_;
    if (dut.commit_valid_i) {
        Late& late = commits_.front();
        if (!late.bytes.empty() && !late.commit.err) {
            for (const auto& [address, byte] : late.bytes)
                memory[address] = byte;
            late.bytes.clear();
            steps.push_back({Step::kMemory, late.packet});
        }
        rtl::drive(dut.commit_i, late.commit);
    }
    dut.mr_rsp_valid_i = !lookups_.empty() && lookups_.front().first <= now_;
    if (dut.mr_rsp_valid_i) {
        rtl::drive(dut.mr_rsp_i, lookups_.front().second);
        lookups_.pop_front();
    }
    dut.rwqe_rsp_valid_i = dut.line_rsp_valid_i = 0;
    if (!reads_.empty() && reads_.front().at <= now_) {
        Due& due = reads_.front();
        due.bad = due.bad || bad_lines.contains(due.request.addr);  // and later lines of this read
        rtl::RdlRsp rsp;
        rsp.last = due.request.lines == 1;
        rsp.err = due.bad;
        rsp.data = lines_[due.request.addr];
        rtl::drive(dut.line_rsp_i, rsp);
        const bool list = due.list;
        ++due.request.addr;
        if (--due.request.lines == 0)
            reads_.pop_front();
        (list ? dut.line_rsp_valid_i : dut.rwqe_rsp_valid_i) = 1;
    }
    // tx_room_i is random; room_seen_ remembers that it was up since the last packet
    dut.tx_room_i = chance(options_.ready) && now_ >= room_from_;
    dut.scat_room_i = chance(options_.ready);
    dut.txd_ready_i = 1;
    dut.seg_ready_i = 1;
    dut.scat_ready_i = chance(options_.ready);
    dut.cqe_ready_i = chance(options_.ready);
    dut.ev_ready_i = chance(options_.ready);
    dut.stat_ready_i = chance(options_.ready);
    dut.qstat_ready_i = chance(options_.ready);
    dut.rwqe_ready_i = chance(options_.ready);
    dut.line_ready_i = chance(options_.ready);
    dut.xl_flush_i = 0;
    dut.eval();
    if (!dut.mrw_valid_o) {
        work_at_ = 0;
        dut.mrw_done_i = 0;
    } else if (work_at_ == 0) {
        work_at_ = now_ + 1 + random_() % work_delay;
    } else if (!dut.mrw_done_i && work_at_ <= now_) {
        works.push_back(rtl::sample<rtl::MrwReq>(dut.mrw_o));
        rtl::drive(dut.mrw_rsp_i, invalidate(works.back()));
        dut.mrw_done_i = 1;
        dut.eval();
    }
    // outputs
    if (dut.rst_ni) {
        if (dut.qp_re_o)
            qp_rdata_ = qps_[dut.qp_raddr_o];
        if (dut.db_valid_i && dut.db_ready_o) {
            db_up_ = false;
            doorbells_.pop_front();
        }
        bad_doorbells += dut.db_bad_o;
        if (dut.rxp_valid_i && dut.rxp_ready_o) {
            rxp_up_ = false;
            ++taken_;
        }
        if (dut.txerr_valid_i && dut.txerr_ready_o) {
            txerr_up_ = false;
            tx_errors_.pop_front();
        }
        if (dut.commit_valid_i && dut.commit_ready_o)
            commits_.pop_front();
        if (dut.state_we_o)
            qps_[dut.state_index_o].state = dut.state_o;
        if (dut.fail_valid_o)
            failed_qps.push_back(dut.fail_qp_o);
        lookups += dut.mr_valid_o;
        if (dut.mr_valid_o)
            lookups_.emplace_back(now_ + kMrLatency, look_up(rtl::sample<rtl::MrReq>(dut.mr_o)));
        if (dut.rwqe_valid_o && dut.rwqe_ready_i) {
            ++rq_reads;
            reads_.push_back({now_ + 1 + random_() % options_.line_delay,
                              rtl::sample<rtl::RdlReq>(dut.rwqe_o), false});
        }
        if (dut.line_valid_o && dut.line_ready_i)
            reads_.push_back({now_ + 1 + random_() % options_.line_delay,
                              rtl::sample<rtl::RdlReq>(dut.line_o), true});
        if (dut.txd_valid_o && dut.txd_ready_i) {
            if (!room_seen_)
                errors.emplace_back("a packet without room");
            room_seen_ = false;
            room_from_ = now_ + room_pause;
            steps.push_back({Step::kSent, sent.size()});
            sent.push_back({rtl::sample<rtl::Txd>(dut.txd_o), {}});
            generations_[sent.back().d.qp] = sent.back().d.gen;
        }
        if (dut.seg_valid_o && dut.seg_ready_i) {
            if (sent.empty())
                errors.emplace_back("a segment without a packet");
            else
                sent.back().segs.push_back(rtl::sample<rtl::Seg>(dut.seg_o));
        }
        if (dut.cqe_valid_o && dut.cqe_ready_i) {
            steps.push_back({Step::kCqe, cqes.size()});
            cqes.push_back(rtl::sample<rtl::CqeReq>(dut.cqe_o));
            cqes_due_.push_back(now_ + 2 + (cqe_delay != 0 ? random_() % cqe_delay : 0));
        }
        if (dut.ev_valid_o && dut.ev_ready_i) {
            if (dut.ev_o[2] == DINGO_EV_QP_LAST_WQE && !cqes_due_.empty())
                errors.emplace_back("the last WQE was told of before its completion");
            steps.push_back({Step::kEvent, events.size()});
            events.push_back(rtl::sample<rtl::Ev>(dut.ev_o));
        }
        if (dut.stat_valid_o && dut.stat_ready_i) {
            const auto s = rtl::sample<rtl::Stat>(dut.stat_o);
            stats[s.idx] += s.by;
        }
        if (dut.qstat_valid_o && dut.qstat_ready_i) {
            const auto s = rtl::sample<rtl::Qstat>(dut.qstat_o);
            qp_stats[{s.qp, s.idx}] += s.by;
        }
        if (dut.qpa_done_o) {
            qpa_done_ = true;
            info_ = rtl::sample<rtl::RspInfo>(dut.qpa_info_o);
        }
        if (dut.srqa_done_o) {
            srqa_done_ = true;
            srq_info_ = rtl::sample<rtl::SrqInfo>(dut.srqa_info_o);
        }
        // A packet may begin if room was up after the packet before it.
        room_seen_ = room_seen_ || (dut.tx_room_i && !dut.txd_valid_o && !dut.seg_valid_o);
        // last, because an END removes the packet from packets_
        if (dut.scat_valid_o && dut.scat_ready_i)
            take_scatter(rtl::sample<rtl::Scat>(dut.scat_o));
    }
    dut.clk_i = 1;
    dut.eval();
    ++now_;
}

bool Bench::settle(unsigned limit) {
    unsigned quiet = 0;
    for (unsigned i = 0; i < limit; ++i) {
        cycle();
        const bool empty = packets_.empty() && doorbells_.empty() && tx_errors_.empty() &&
                           cq_fails_.empty() && fails_.empty() && commits_.empty();
        quiet = empty && dut.idle_o && dut.tx_idle_o && (halt_tx || !dut.work_o) ? quiet + 1 : 0;
        if (quiet == 4)
            return true;
    }
    errors.emplace_back("it never came to rest");
    return false;
}

Bytes Bench::read_memory(std::uint64_t address, std::size_t count) const {
    Bytes bytes;
    for (std::size_t i = 0; i < count; ++i) {
        const auto it = memory.find(address + i);
        bytes.push_back(it == memory.end() ? 0 : it->second);
    }
    return bytes;
}

}  // namespace bench
