// SPDX-License-Identifier: BSD-2-Clause
#include "bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace verbs_promises {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(40);
constexpr auto kMoment = std::chrono::milliseconds(50);
constexpr std::size_t kPage = 4096;

bool poll(ibv_cq* cq, ibv_wc& wc, Clock::duration time) {
    const auto end = Clock::now() + time;
    for (;;) {
        const int n = ibv_poll_cq(cq, 1, &wc);
        if (n < 0) {
            throw Broken("ibv_poll_cq: " + std::to_string(n));
        }
        if (n == 1) {
            return true;
        }
        if (Clock::now() > end) {
            return false;
        }
        std::this_thread::yield();
    }
}

}  // namespace

void done(int error, const char* what) {
    if (error == EOPNOTSUPP) {
        throw Lacking(std::string("the device has no ") + what);
    }
    if (error != 0) {
        throw Broken(std::string(what) + ": " + error_text(error));
    }
}

Context open_device() {
    int count = 0;
    ibv_device** const list = made(ibv_get_device_list(&count), "device list");
    Context context;
    for (int i = 0; i < count && !context; ++i) {
        if (options().device.empty() || options().device == ibv_get_device_name(list[i])) {
            context.reset(made(ibv_open_device(list[i]), "ibv_open_device"));
        }
    }
    ibv_free_device_list(list);
    if (!context) {
        throw Broken("no device " + options().device);
    }
    return context;
}

Region::Region(ibv_pd* pd, std::size_t bytes, int access) : memory_(bytes + kPage) {
    skip_ = (kPage - reinterpret_cast<std::uintptr_t>(memory_.data()) % kPage) % kPage;
    mr_.reset(made(ibv_reg_mr(pd, data(), bytes, access), "ibv_reg_mr"));
}

std::uint64_t Region::address(std::size_t offset) {
    return reinterpret_cast<std::uintptr_t>(data() + offset);
}

ibv_sge Region::sge(std::size_t offset, std::uint32_t length) {
    return {address(offset), length, mr_->lkey};
}

Bench::Bench() : context(open_device()) {
    done(ibv_query_device(ctx(), &attr), "ibv_query_device");
    done(ibv_query_port(ctx(), 1, &port), "ibv_query_port");
    std::vector<ibv_gid_entry> entries(static_cast<std::size_t>(port.gid_tbl_len));
    const auto n = ibv_query_gid_table(ctx(), entries.data(), entries.size(), 0);
    if (n <= 0) {
        throw Broken("the port has no GID");
    }
    entries.resize(static_cast<std::size_t>(n));
    const auto is_ipv4 = [](const ibv_gid_entry& e) {
        const std::uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
        return e.gid_type == IBV_GID_TYPE_ROCE_V2 && std::memcmp(e.gid.raw, mapped, 12) == 0;
    };
    const auto is_v2 = [](const ibv_gid_entry& e) { return e.gid_type == IBV_GID_TYPE_ROCE_V2; };
    auto entry = std::find_if(entries.begin(), entries.end(), is_ipv4);
    if (entry == entries.end()) {
        entry = std::find_if(entries.begin(), entries.end(), is_v2);
    }
    if (entry == entries.end()) {
        entry = entries.begin();
    }
    gid_index = static_cast<int>(entry->gid_index);
    gid = entry->gid;
    pd.reset(made(ibv_alloc_pd(ctx()), "ibv_alloc_pd"));
}

Cq Bench::cq(int entries, ibv_comp_channel* channel, void* user) {
    return Cq(made(ibv_create_cq(ctx(), entries, user, channel, 0), "ibv_create_cq"));
}

ibv_qp_init_attr Bench::init(ibv_cq* cq, ibv_qp_type type, ibv_srq* srq) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.srq = srq;
    init.qp_type = type;
    init.cap = {8, 8, 2, 2, 0};
    return init;
}

Qp Bench::qp(ibv_qp_init_attr& init) {
    const char* const what = init.qp_type == IBV_QPT_UC   ? "UC queue pairs"
                             : init.qp_type == IBV_QPT_UD ? "UD queue pairs"
                                                          : "queue pair";
    return Qp(made(ibv_create_qp(pd.get(), &init), what));
}

Qp Bench::qp(ibv_cq* cq, ibv_qp_type type, ibv_srq* srq) {
    auto wanted = init(cq, type, srq);
    return qp(wanted);
}

Srq Bench::srq(std::uint32_t wrs, std::uint32_t sges) {
    ibv_srq_init_attr init{};
    init.attr = {wrs, sges, 0};
    return Srq(made(ibv_create_srq(pd.get(), &init), "shared receive queues"));
}

ibv_ah_attr Bench::self() const {
    ibv_ah_attr ah{};
    ah.is_global = 1;
    ah.port_num = 1;
    ah.grh.dgid = gid;
    ah.grh.sgid_index = static_cast<std::uint8_t>(gid_index);
    ah.grh.hop_limit = 64;
    return ah;
}

void Bench::need_atomics() const {
    if (attr.atomic_cap == IBV_ATOMIC_NONE) {
        throw Lacking("the device has no atomics");
    }
}

ibv_qp_state state_of(ibv_qp* qp) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    done(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
    return attr.qp_state;
}

ibv_wc wait_wc(ibv_cq* cq) {
    ibv_wc wc{};
    if (!poll(cq, wc, kPatience)) {
        throw Broken("no completion");
    }
    return wc;
}

void no_wc(ibv_cq* cq) {
    ibv_wc wc{};
    if (poll(cq, wc, kMoment)) {
        throw Broken(std::string("a completion that should not be: ") +
                     ibv_wc_status_str(wc.status));
    }
}

}  // namespace verbs_promises
