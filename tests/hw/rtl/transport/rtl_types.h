// SPDX-License-Identifier: BSD-2-Clause
//
// Structures of rtl_pkg that the transport's ports carry, for benches that are built with
// DINGO_QP_LOG = DINGO_CQ_LOG = 5.
#pragma once

#include <array>
#include <cstdint>

#include "wide.h"

namespace rtl {

inline constexpr unsigned kQpLog = 5;
inline constexpr unsigned kCqLog = 5;
inline constexpr unsigned kGidLog = 4;

using Gid = std::array<std::uint32_t, 4>;
using Item = std::array<std::uint32_t, 12>;

struct Mem {
    std::uint8_t levels = 0, shift = 0;
    std::uint32_t offset = 0;
    std::uint64_t addr = 0;
    template <class V>
    void fields(V& v) {
        v(levels, 2), v(shift, 5), v(offset, 32), v(addr, 64);
    }
};

struct Seg {
    bool last = false;
    std::uint32_t len = 0;
    std::uint64_t off = 0;
    Mem mem;
    template <class V>
    void fields(V& v) {
        v(last, 1), v(len, 32), v(off, 64);
        mem.fields(v);
    }
};

struct MrReq {
    std::uint32_t key = 0;
    std::uint64_t va = 0;
    std::uint32_t len = 0;
    std::uint8_t access = 0;
    std::uint16_t pdn = 0;
    bool privileged = false;
    template <class V>
    void fields(V& v) {
        v(key, 32), v(va, 64), v(len, 32), v(access, 6), v(pdn, 16), v(privileged, 1);
    }
};
struct MrRsp {
    bool ok = false;
    std::uint8_t verr = 0;
    std::uint64_t off = 0;
    Mem mem;
    template <class V>
    void fields(V& v) {
        v(ok, 1), v(verr, 8), v(off, 64);
        mem.fields(v);
    }
};

struct QpConfig {
    bool valid = false;
    std::uint8_t tag = 0, kind = 0;
    std::uint16_t pdn = 0, send_cq = 0, recv_cq = 0, db_page = 0;
    bool signal_all = false, privileged = false;
    std::uint8_t log_sq = 0, log_rq = 0, log_rq_stride = 0;
    Mem sq, rq;
    std::uint32_t qkey = 0, rq_psn = 0, sq_psn = 0, dest_qpn = 0;
    std::uint8_t access = 0, path_mtu = 0, max_rd = 0, max_dest_rd = 0, min_rnr_timer = 0,
                 timeout = 0, retry_cnt = 0, rnr_retry = 0;
    bool port = false, sqd_notify = false;
    Gid dgid{};
    std::uint64_t dmac = 0;
    std::uint8_t sgid = 0;
    std::uint32_t flow_label = 0;
    std::uint16_t udp_sport = 0;
    std::uint8_t hop_limit = 0, tclass = 0, sl = 0;
    template <class V>
    void fields(V& v) {
        v(valid, 1), v(tag, 8), v(kind, 3), v(pdn, 16), v(send_cq, kCqLog), v(recv_cq, kCqLog),
            v(db_page, 10), v(signal_all, 1), v(privileged, 1), v(log_sq, 5), v(log_rq, 4),
            v(log_rq_stride, 4);
        sq.fields(v);
        rq.fields(v);
        v(qkey, 32), v(rq_psn, 24), v(sq_psn, 24), v(dest_qpn, 24), v(access, 5), v(path_mtu, 3),
            v(max_rd, 8), v(max_dest_rd, 8), v(min_rnr_timer, 5), v(timeout, 5), v(retry_cnt, 3),
            v(rnr_retry, 3), v(port, 1), v(sqd_notify, 1), v(dgid, 128), v(dmac, 48),
            v(sgid, kGidLog), v(flow_label, 20), v(udp_sport, 16), v(hop_limit, 8), v(tclass, 8),
            v(sl, 4);
    }
};
struct QpEntry {
    std::uint8_t state = 0;
    QpConfig cfg;
    template <class V>
    void fields(V& v) {
        v(state, 3);
        cfg.fields(v);
    }
};

struct QpaReq {
    std::uint8_t op = 0;
    bool destroy = false;
    std::uint8_t old_state = 0;
    std::uint32_t mask = 0;
    std::uint16_t qp = 0;
    QpEntry ctx;
    template <class V>
    void fields(V& v) {
        v(op, 2), v(destroy, 1), v(old_state, 3), v(mask, 21), v(qp, kQpLog);
        ctx.fields(v);
    }
};
struct RspInfo {
    std::uint32_t rq_producer = 0, rq_consumer = 0, rq_psn = 0, msn = 0;
    template <class V>
    void fields(V& v) {
        v(rq_producer, 32), v(rq_consumer, 32), v(rq_psn, 24), v(msn, 24);
    }
};

struct QpDoorbell {
    std::uint16_t qp = 0;
    std::uint32_t index = 0;
    template <class V>
    void fields(V& v) {
        v(qp, kQpLog), v(index, 32);
    }
};

struct CqeReq {
    std::uint16_t cq = 0;
    bool from_rsp = false;
    std::uint16_t qp = 0;
    std::uint32_t wqe_index = 0, byte_len = 0, imm = 0, qpn_op = 0, src_qpn = 0;
    std::uint8_t status = 0, verr = 0;
    std::uint16_t vlan = 0;
    std::uint8_t flags = 0;
    template <class V>
    void fields(V& v) {
        v(cq, kCqLog), v(from_rsp, 1), v(qp, kQpLog), v(wqe_index, 32), v(byte_len, 32), v(imm, 32),
            v(qpn_op, 32), v(src_qpn, 32), v(status, 8), v(verr, 8), v(vlan, 16), v(flags, 8);
    }
};

struct Event {
    std::uint8_t kind = 0;
    std::uint32_t id = 0, data = 0;
    template <class V>
    void fields(V& v) {
        v(kind, 8), v(id, 32), v(data, 32);
    }
};

struct TxDescriptor {
    std::uint32_t offset = 0;
    bool from_rsp = false, tell = false;
    std::uint16_t qp = 0;
    std::uint8_t sgid = 0;
    Gid dgid{};
    std::uint64_t dmac = 0;
    std::uint16_t udp_sport = 0;
    std::uint32_t flow_label = 0;
    std::uint8_t hop_limit = 0, tclass = 0, sl = 0, opcode = 0;
    bool se = false, ackreq = false;
    std::uint32_t dqpn = 0, psn = 0;
    std::uint64_t va = 0;
    std::uint32_t rkey = 0, dma_len = 0;
    std::uint8_t syndrome = 0;
    std::uint32_t msn = 0, imm = 0, qkey = 0, src_qpn = 0;
    bool inl = false;
    std::uint16_t len = 0;
    template <class V>
    void fields(V& v) {
        v(offset, 32), v(from_rsp, 1), v(tell, 1), v(qp, kQpLog), v(sgid, kGidLog), v(dgid, 128),
            v(dmac, 48), v(udp_sport, 16), v(flow_label, 20), v(hop_limit, 8), v(tclass, 8),
            v(sl, 4), v(opcode, 8), v(se, 1), v(ackreq, 1), v(dqpn, 24), v(psn, 24), v(va, 64),
            v(rkey, 32), v(dma_len, 32), v(syndrome, 8), v(msn, 24), v(imm, 32), v(qkey, 32),
            v(src_qpn, 24), v(inl, 1), v(len, 13);
    }
};
struct TxError {
    bool ok = false;
    std::uint16_t qp = 0;
    std::uint32_t psn = 0;
    template <class V>
    void fields(V& v) {
        v(ok, 1), v(qp, kQpLog), v(psn, 24);
    }
};

struct Headers {
    bool ipv4 = false, has_vlan = false;
    std::uint16_t vlan = 0;
    bool ce = false;
    std::uint16_t frame_bytes = 0;
    Gid sgid{}, dgid{};
    std::array<std::uint32_t, 10> grh{};
    std::uint8_t opcode = 0;
    bool se = false, ackreq = false;
    std::uint16_t pkey = 0;
    std::uint32_t dqpn = 0, psn = 0;
    std::uint64_t va = 0;
    std::uint32_t rkey = 0, dma_len = 0;
    std::uint8_t syndrome = 0;
    std::uint32_t msn = 0, imm = 0, qkey = 0, src_qpn = 0;
    std::uint16_t len = 0;
    template <class V>
    void fields(V& v) {
        v(ipv4, 1), v(has_vlan, 1), v(vlan, 16), v(ce, 1), v(frame_bytes, 14), v(sgid, 128),
            v(dgid, 128), v(grh, 320), v(opcode, 8), v(se, 1), v(ackreq, 1), v(pkey, 16),
            v(dqpn, 24), v(psn, 24), v(va, 64), v(rkey, 32), v(dma_len, 32), v(syndrome, 8),
            v(msn, 24), v(imm, 32), v(qkey, 32), v(src_qpn, 24), v(len, 13);
    }
};
struct RxPacket {
    std::uint16_t qp = 0;
    QpEntry ctx;
    Headers h;
    template <class V>
    void fields(V& v) {
        v(qp, kQpLog);
        ctx.fields(v);
        h.fields(v);
    }
};

enum ScatterOp : std::uint8_t { kSeg = 0, kGrh = 1, kEnd = 2 };
struct Scatter {
    std::uint8_t op = 0;
    bool no_item = false, to_rsp = false, has_payload = false;
    Item item{};
    Seg seg;
    template <class V>
    void fields(V& v) {
        v(op, 2), v(no_item, 1), v(to_rsp, 1), v(has_payload, 1), v(item, 384);
        seg.fields(v);
    }
};
struct Commit {
    bool err = false;
    Item item{};
    template <class V>
    void fields(V& v) {
        v(err, 1), v(item, 384);
    }
};

struct Stat {
    std::uint8_t idx = 0;
    std::uint16_t by = 0;
    template <class V>
    void fields(V& v) {
        v(idx, 6), v(by, 16);
    }
};
struct QpStat {
    std::uint16_t qp = 0;
    std::uint8_t idx = 0;
    std::uint16_t by = 0;
    template <class V>
    void fields(V& v) {
        v(qp, kQpLog), v(idx, 4), v(by, 16);
    }
};

struct LineReq {
    std::uint8_t lines = 0;
    std::uint64_t addr = 0;  ///< of the line, in units of 64 bytes
    template <class V>
    void fields(V& v) {
        v(lines, 4), v(addr, 58);
    }
};
struct LineRsp {
    bool err = false, last = false;
    std::array<std::uint32_t, 16> data{};
    template <class V>
    void fields(V& v) {
        v(err, 1), v(last, 1), v(data, 512);
    }
};

struct GidEntry {
    bool valid = false, ipv4 = false;
    std::uint64_t mac = 0;
    std::uint16_t vlan = 0xffff;
    Gid gid{};
    template <class V>
    void fields(V& v) {
        v(valid, 1), v(ipv4, 1), v(mac, 48), v(vlan, 16), v(gid, 128);
    }
};

}  // namespace rtl
