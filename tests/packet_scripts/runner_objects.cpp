// SPDX-License-Identifier: BSD-2-Clause
//
// What a script sets up: regions, queues, work requests; and the names that it gives them.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "names.h"
#include "runner.h"

namespace dingo::wire {
namespace {

constexpr std::string_view kPlaceSigns = "+-^";

/// "mr1+64" -> "mr1"
std::string_view name_of(std::string_view text) {
    return text.substr(0, text.find_first_of(kPlaceSigns));
}

std::uint8_t pmtu_code(std::uint64_t bytes) {
    for (std::uint8_t code = 1; code <= 5; ++code)
        if (128u << code == bytes)
            return code;
    throw ScriptError(fmt::format("{} is no path MTU", bytes));
}

}  // namespace

const test::Mr& Runner::mr(std::string_view name) const {
    const auto it = mrs_.find(name);
    if (it == mrs_.end())
        throw ScriptError(fmt::format("there is no region '{}'", name));
    return it->second;
}

Runner::QpEntry& Runner::qp(std::uint64_t qpn) {
    const auto it = qps_.find(qpn);
    if (it == qps_.end())
        throw ScriptError(fmt::format("there is no QP {:#x}", qpn));
    return it->second;
}

Runner::QpEntry& Runner::last_qp() {
    return qp(last_qpn_);
}

std::uint32_t Runner::key_of(std::string_view text) const {
    if (!text.starts_with("mr"))
        return static_cast<std::uint32_t>(read_number(text));
    std::uint32_t key = mr(name_of(text)).key;
    if (const auto xor_at = text.find('^'); xor_at != std::string_view::npos) {
        const std::string_view mask = text.substr(xor_at + 1);
        key ^= static_cast<std::uint32_t>(read_number(mask.substr(0, mask.find_first_of("+-"))));
    }
    return key;
}

std::uint64_t Runner::address_of(std::string_view text) const {
    if (!text.starts_with("mr"))
        return read_number(text);
    const std::uint64_t base = mr(name_of(text)).iova;
    const auto sign = text.find_first_of("+-");
    if (sign == std::string_view::npos)
        return base;
    const std::uint64_t offset = read_number(text.substr(sign + 1));
    return text[sign] == '+' ? base + offset : base - offset;
}

std::string Runner::resolve(std::string_view key, std::string_view value) const {
    if (!value.starts_with("mr"))
        return std::string(value);
    if (key == "rkey" || key == "inv")
        return fmt::format("{:#x}", key_of(value));
    if (key == "va")
        return fmt::format("{:#x}", address_of(value));
    return std::string(value);
}

std::string Runner::resolve_line(std::string_view line) const {
    std::istringstream in{std::string(line)};
    std::string word, out;
    while (in >> word) {
        const auto equals = word.find('=');
        if (!out.empty())
            out += ' ';
        out += word.substr(0, equals);
        if (equals != std::string::npos)
            out += '=' + resolve(std::string_view(word).substr(0, equals),
                                 std::string_view(word).substr(equals + 1));
    }
    return out;
}

std::vector<dingo_sge> Runner::sges_of(std::string_view text) const {
    std::vector<dingo_sge> sges;
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        const std::string_view entry = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const auto colon = entry.rfind(':');
        if (colon == std::string_view::npos)
            throw ScriptError("sge= wants mrN+OFFSET:LENGTH,...");
        dingo_sge sge{};
        sge.addr = address_of(entry.substr(0, colon));
        sge.lkey = key_of(entry.substr(0, colon));
        sge.length = static_cast<std::uint32_t>(read_number(entry.substr(colon + 1)));
        sges.push_back(sge);
    }
    return sges;
}

void Runner::make_mr(Words& words) {
    const std::string name = "mr" + words.bare("a number");
    const std::uint64_t length = words.number("len");
    const auto va = words.value("va");
    const std::uint32_t access = access_value(words.value("access").value_or("lrwa"));
    const auto pdn = static_cast<std::uint32_t>(words.number("pd", 1));
    mrs_[name] = card_.driver.create_mr(length, access, pdn,
                                        va ? std::optional(read_number(*va)) : std::nullopt);
}

void Runner::make_srq(Words& words) {
    const std::uint64_t number = read_number(words.bare("a number"));
    const auto limit = static_cast<std::uint32_t>(words.number("limit", 0));
    const auto pdn = static_cast<std::uint32_t>(words.number("pd", 1));
    srqs_[number] = card_.driver.create_srq(6, 8, pdn, limit);
}

void Runner::make_qp(Words& words) {
    const std::uint64_t qpn = read_number(words.bare("a QPN"));
    test::QpOptions create;
    create.qpn = static_cast<std::uint32_t>(qpn);
    create.pdn = static_cast<std::uint32_t>(words.number("pd", 1));
    create.kind = words.flag("rc")    ? DINGO_QPT_RC
                  : words.flag("uc")  ? DINGO_QPT_UC
                  : words.flag("ud")  ? DINGO_QPT_UD
                  : words.flag("gsi") ? DINGO_QPT_GSI
                                      : throw ScriptError("rc, uc, ud or gsi is missing");
    create.log_sq = 8;
    if (const auto srq = words.value("srq"))
        create.srqn = srqs_.at(read_number(*srq)).srqn;

    QpEntry entry;
    const auto gid = static_cast<std::uint16_t>(words.number("gid", 0));
    entry.to_card = peer_path(gid);
    test::TestDriver::PathOptions& path = entry.options;
    path.sgid_index = gid;
    path.dgid = entry.to_card.sgid.bytes;
    path.dmac = entry.to_card.smac.bytes;
    const auto byte = [&](std::string_view key, std::uint64_t otherwise) {
        return static_cast<std::uint8_t>(words.number(key, otherwise));
    };
    path.path_mtu = pmtu_code(words.number("mtu", 1024));
    path.dest_qpn = static_cast<std::uint32_t>(words.number("dest", 0x22));
    path.rq_psn = static_cast<std::uint32_t>(words.number("rq_psn", 100));
    path.sq_psn = static_cast<std::uint32_t>(words.number("sq_psn", 200));
    path.access = access_value(words.value("access").value_or("rwa"));
    path.timeout = byte("timeout", 14);
    path.retry_cnt = byte("retry", 3);
    path.rnr_retry = byte("rnr_retry", 3);
    path.min_rnr_timer = byte("min_rnr", 12);
    path.max_rd_atomic = byte("rd_atomic", 4);
    path.qkey = static_cast<std::uint32_t>(words.number("qkey", 0x11111111));
    path.tclass = byte("tclass", 0);
    path.sl = byte("sl", 0);
    path.hop_limit = byte("ttl", 64);
    path.flow_label = static_cast<std::uint32_t>(words.number("flow", 0));

    entry.qp = card_.driver.create_qp(cq_, cq_, create);
    if (const auto kernel = words.value("receive")) {
        if (*kernel != "add_one")
            throw ScriptError("receive=add_one is all that there is");
        const auto answer =
            card_.driver.set_compute(entry.qp.qpn, DINGO_KERNEL_ADD_ONE, 0, DINGO_COMPUTE_RECEIVE);
        if (answer.status != DINGO_ST_OK)
            throw ScriptError("the card refuses receive=add_one");
    }
    const std::uint8_t state = state_value(words.value("state").value_or("rts"));
    if (state >= DINGO_QPS_INIT)
        card_.driver.to_init(entry.qp, path);
    if (state >= DINGO_QPS_RTR)
        card_.driver.to_rtr(entry.qp, path);
    if (state >= DINGO_QPS_RTS)
        card_.driver.to_rts(entry.qp, path);
    qps_[qpn] = std::move(entry);
    last_qpn_ = qpn;
}

void Runner::modify_qp(Words& words) {
    QpEntry& entry = qp(read_number(words.bare("a QPN")));
    const auto name = words.value("state");
    if (!name)
        throw ScriptError("state= is missing");
    const std::uint8_t state = state_value(*name);
    const bool notify = words.flag("notify");
    const std::uint8_t now = card_.driver.query_qp(entry.qp.qpn).state;
    if (state == DINGO_QPS_INIT) {
        card_.driver.to_init(entry.qp, entry.options);
    } else if (state == DINGO_QPS_RTR) {
        card_.driver.to_rtr(entry.qp, entry.options);
    } else if (state == DINGO_QPS_RTS && now == DINGO_QPS_RTR) {
        card_.driver.to_rts(entry.qp, entry.options);
    } else {
        dingo_cmd_modify_qp command{};
        command.next_state = state;
        command.attr.sqd_notify = notify;
        card_.driver.modify(
            entry.qp, DINGO_QPM_STATE | (notify ? DINGO_QPM_EN_SQD_ASYNC_NOTIFY : 0u), command);
    }
    if (state == DINGO_QPS_RESET)
        entry.qp.sq_producer = entry.qp.rq_producer = 0;
    card_.settle();
}

void Runner::post(Words& words) {
    const std::string verb = words.bare("a work request");
    const std::uint64_t wr_id = words.number("wr");
    const auto sges = sges_of(words.value("sge").value_or(""));
    if (verb == "recv") {
        if (const auto srq = words.value("srq")) {
            card_.driver.post_recv(srqs_.at(read_number(*srq)), static_cast<std::uint32_t>(wr_id),
                                   sges);
        } else {
            const auto qpn = words.value("qp");
            QpEntry& entry = qpn ? qp(read_number(*qpn)) : last_qp();
            card_.driver.post_recv(entry.qp, static_cast<std::uint32_t>(wr_id), sges);
        }
        card_.settle();
        return;
    }
    const auto qpn = words.value("qp");
    QpEntry& entry = qpn ? qp(read_number(*qpn)) : last_qp();
    test::SendWr wr;
    wr.opcode = opcode_value(verb == "cas" ? "cmp_swap" : verb == "fadd" ? "fetch_add" : verb);
    wr.flags = words.flag("unsignaled") ? 0 : DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
    wr.flags |= words.flag("se") ? DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK : 0;
    wr.flags |= words.flag("fence") ? DINGO_WQE_CTRL_FLAGS_FENCE_MASK : 0;
    wr.imm = static_cast<std::uint32_t>(words.number("imm", 0));
    if (const auto key = words.value("inv"))
        wr.imm = key_of(*key);
    wr.raddr = words.number("to", 0);
    if (const auto key = words.value("rkey"))
        wr.rkey = key_of(*key);
    wr.sges = sges;
    if (const auto data = words.value("inline")) {
        wr.inline_data = read_bytes(*data);
        wr.force_inline = true;
    }
    wr.swap_add = words.number(verb == "fadd" ? "add" : "swap", 0);
    wr.compare = words.number("compare", 0);
    if (entry.qp.datagram()) {
        const auto gid = static_cast<std::uint16_t>(words.number("gid", 0));
        const packet::NetworkPath path = peer_path(gid);
        wr.ud.dest_qpn = static_cast<std::uint32_t>(words.number("dest", 0x22));
        wr.ud.qkey = static_cast<std::uint32_t>(words.number("qkey", 0x11111111));
        std::ranges::copy(path.sgid.bytes, wr.ud.dgid);
        std::ranges::copy(path.smac.bytes, wr.ud.dmac);
        wr.ud.sgid_index = gid;
        wr.ud.udp_sport = entry.options.udp_sport;
        wr.ud.hop_limit = 64;
    }
    const std::uint32_t index = card_.driver.post_send(entry.qp, wr);
    entry.sends[index] = wr_id;
    card_.settle();
}

void Runner::destroy(Words& words) {
    const std::string name = words.bare("what to destroy");
    const bool region = name.starts_with("mr");
    const auto completion =
        region ? card_.driver.destroy(DINGO_OP_DESTROY_MR, mr(name).key)
               : card_.driver.destroy(DINGO_OP_DESTROY_QP,
                                      static_cast<std::uint32_t>(read_number(name)));
    if (completion.status != DINGO_ST_OK)
        throw ScriptError(fmt::format("the card refuses: status {}", completion.status));
}

void Runner::link(Words& words) {
    card_.engine->set_link(words.bare("up or down") == "up");
    card_.settle();
}

void Runner::need(Words& words) {
    const std::string name = words.bare("a capability");
    if ((card_.driver.read64(DINGO_REG_CAPS) & capability_value(name)) == 0)
        throw CaseSkipped(fmt::format("the engine has no {}", name));
}

void Runner::only(Words& words) {
    const std::string name = words.bare("an engine");
    if (name != engine_)
        throw CaseSkipped(fmt::format("only for the engine {}", name));
}

void Runner::fill(Words& words) {
    const std::string place = words.bare("a place");
    const auto bytes = read_bytes(words.bare("bytes"));
    std::ranges::copy(bytes, memory(place, bytes.size()).begin());
}

void Runner::break_memory(Words& words) {
    const test::Mr& region = mr(words.bare("a region"));
    card_.host.break_range(region.bus, region.length);
}

void Runner::make_window(Words& words) {
    const std::string name = "mr" + words.bare("a number");
    const test::Mr region = mr("mr" + words.value("mr").value_or("1"));
    const std::uint64_t kind = words.number("type", 2);
    test::Mr window = card_.driver.create_key(kind == 1 ? DINGO_MRT_MW1 : DINGO_MRT_MW2);
    test::SendWr wr;
    wr.opcode = DINGO_WR_BIND_MW;
    wr.bind.addr = address_of(words.value("va").value_or("0"));
    wr.bind.length = words.number("len");
    wr.bind.mr_key = region.key;
    wr.bind.mw_key = window.key;
    wr.bind.new_key = window.key ^ 0x2d;  // the low byte is the owner's to choose
    wr.bind.access = access_value(words.value("access").value_or("rw"));
    QpEntry& entry = last_qp();
    card_.driver.post_send(entry.qp, wr);
    card_.settle();
    const auto cqe = card_.driver.poll_cq(cq_);
    if (!cqe || cqe->status != DINGO_WCS_SUCCESS)
        throw ScriptError("the window was not bound");
    window.key = wr.bind.new_key;
    window.iova = wr.bind.addr;
    window.length = wr.bind.length;
    window.bus = region.bus + (wr.bind.addr - region.iova);
    mrs_[name] = window;
}

std::span<std::byte> Runner::memory(std::string_view place, std::size_t length) {
    const test::Mr& region = mr(name_of(place));
    return card_.host.bytes(region.bus + (address_of(place) - region.iova), length);
}

}  // namespace dingo::wire
