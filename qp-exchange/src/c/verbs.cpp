// SPDX-License-Identifier: BSD-2-Clause
// The C interface of qpx/verbs.h.
#include "qpx/verbs.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>

#include "c/convert.h"
#include "c/guard.h"
#include "qpx/qpx.h"

namespace {

using qpx::Error;
using qpx::ErrorCode;
using qpx::c::from_c;
using qpx::c::guarded;
using qpx::c::sized;
using qpx::c::want;
using qpx::c::want_unused;

qpx::PathOptions path_of(const qpx_path_options* given) {
    qpx::PathOptions out;
    if (given == nullptr) {
        return out;
    }
    const qpx_path_options path = sized(*given, sizeof(qpx_path_options));
    want_unused(&path.reserved, sizeof(path.reserved), "qpx_path_options");
    out.timeout = path.timeout;
    out.retry_cnt = path.retry_cnt;
    out.rnr_retry = path.rnr_retry;
    out.min_rnr_timer = path.min_rnr_timer;
    out.traffic_class = path.traffic_class;
    out.sl = path.sl;
    out.hop_limit = path.hop_limit;
    out.static_rate = path.static_rate;
    out.flow_label = path.flow_label;
    out.pkey_index = path.pkey_index;
    if (path.access >= 0) {
        out.access = static_cast<unsigned>(path.access);
    }
    if (path.grh >= 0) {
        out.grh = path.grh != 0;
    }
    return out;
}

qpx::DescribeOptions describe_of(const qpx_describe_options* given,
                                 const qpx_connection* connection) {
    constexpr qpx_describe_options usual = QPX_DESCRIBE_OPTIONS_INIT;
    const qpx_describe_options wanted =
        given != nullptr ? sized(*given, sizeof(qpx_describe_options)) : usual;
    want_unused(wanted.reserved, sizeof(wanted.reserved), "qpx_describe_options");
    qpx::DescribeOptions out;
    out.port = wanted.port;
    out.gid.index = wanted.gid_index;
    out.gid.family = wanted.family;
    out.gid.allow_roce_v1 = wanted.allow_roce_v1 != 0;
    if (connection != nullptr) {
        out.gid.peer = qpx_peer_address(connection);
        out.gid.local = qpx_local_address(connection);
    }
    if (wanted.peer != nullptr) {
        out.gid.peer = wanted.peer;
        out.gid.local.clear();
    }
    if (wanted.local != nullptr) {
        out.gid.local = wanted.local;
    }
    out.max_rd_atomic = wanted.max_rd_atomic;
    out.max_dest_rd_atomic = wanted.max_dest_rd_atomic;
    out.mtu = wanted.mtu;
    out.qkey = wanted.qkey;
    return out;
}

qpx::GidType type_of(qpx::GidCandidate::Type type) {
    return type == qpx::GidCandidate::Type::RoceV2   ? qpx::GidType::RoceV2
           : type == qpx::GidCandidate::Type::RoceV1 ? qpx::GidType::RoceV1
                                                     : qpx::GidType::InfiniBand;
}

/// @throws Error(Argument) if `gid_index` differs from the GID that the peer was sent
qpx::Local local_of(const qpx_endpoint& local, int gid_index) {
    qpx::Local mine;
    mine.endpoint = from_c(local);
    mine.gid = {.index = gid_index, .gid = mine.endpoint.gid};
    for (std::size_t i = 0; i < mine.endpoint.candidates.size(); ++i) {
        const qpx::GidCandidate& candidate = mine.endpoint.candidates[i];
        const int index = local.candidates[i].gid_index;
        if (index < 0) {
            throw Error(ErrorCode::Argument,
                        "the local endpoint's candidates have no gid_index, like those of a peer: "
                        "pass what qpx_describe() filled in");
        }
        mine.choices.push_back({index, candidate.gid, type_of(candidate.type)});
        if (candidate.wish != qpx::GidCandidate::Wish::None) {
            mine.gid = mine.choices.back();
        }
    }
    if (mine.gid.index != gid_index) {
        throw Error(ErrorCode::Argument, "gid_index is " + std::to_string(gid_index) +
                                             ", but the endpoint for the peer has " +
                                             std::to_string(mine.gid.index) +
                                             ": pass the wanted index to qpx_describe(), and pass "
                                             "here the index that it returned");
    }
    return mine;
}

using Context = std::unique_ptr<ibv_context, int (*)(ibv_context*)>;

/// @throws Error Argument with the names of existing devices; Device
Context open_device(const std::string& name) {
    int count = 0;
    const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(ibv_get_device_list(&count),
                                                                    ibv_free_device_list);
    std::string there;
    for (int i = 0; list != nullptr && i < count; ++i) {
        ibv_device* device = list.get()[i];
        if (name != ibv_get_device_name(device)) {
            there += (there.empty() ? "" : ", ") + std::string(ibv_get_device_name(device));
            continue;
        }
        Context context(ibv_open_device(device), ibv_close_device);
        if (context == nullptr) {
            const int error = errno;
            throw Error(ErrorCode::Device,
                        "opening " + name + ": " + std::system_category().message(error), error);
        }
        return context;
    }
    throw Error(ErrorCode::Argument, "no RDMA device '" + name + "'; there are: " +
                                         (there.empty() ? std::string("none") : there));
}

/// Fills in the C structure, including the candidates' indices.
void give(const qpx::Local& described, qpx_endpoint* local, int* chosen_gid_index) {
    qpx::c::fill(*local, described.endpoint);
    for (uint32_t i = 0; i < local->candidate_count; ++i) {
        local->candidates[i].gid_index = described.choices.at(i).index;
    }
    *chosen_gid_index = described.gid.index;
}

}  // namespace

int qpx_describe(ibv_qp* qp, uint8_t port, int gid_index, const qpx_connection* connection,
                 qpx_endpoint* local, int* chosen_gid_index) {
    qpx_describe_options options = QPX_DESCRIBE_OPTIONS_INIT;
    options.port = port;
    options.gid_index = gid_index;
    return qpx_describe_qp(qp, &options, connection, local, chosen_gid_index);
}

int qpx_describe_qp(ibv_qp* qp, const qpx_describe_options* options,
                    const qpx_connection* connection, qpx_endpoint* local, int* chosen_gid_index) {
    return guarded([&] {
        want(qp, "qp");
        want(local, "local");
        want(chosen_gid_index, "chosen_gid_index");
        give(qpx::describe(qp, describe_of(options, connection)), local, chosen_gid_index);
    });
}

int qpx_describe_number(const char* device, uint32_t qpn, uint32_t type,
                        const qpx_describe_options* options, const qpx_connection* connection,
                        qpx_endpoint* local, int* chosen_gid_index) {
    return guarded([&] {
        want(device, "device");
        want(local, "local");
        want(chosen_gid_index, "chosen_gid_index");
        if (type != QPX_RC && type != QPX_UC && type != QPX_UD) {
            throw Error(ErrorCode::Argument,
                        "QP type " + std::to_string(type) + " is none of QPX_RC, QPX_UC, QPX_UD");
        }
        const Context context = open_device(device);
        give(qpx::describe(context.get(), qpn, static_cast<qpx::QpType>(type),
                           describe_of(options, connection)),
             local, chosen_gid_index);
    });
}

int qpx_agree(const qpx_endpoint* local, int gid_index, const qpx_endpoint* remote, int* mine,
              uint8_t* theirs) {
    return guarded([&] {
        want(local, "local");
        want(remote, "remote");
        want(mine, "mine");
        want(theirs, "theirs");
        const qpx::GidPair pair = qpx::agree(local_of(*local, gid_index), from_c(*remote));
        *mine = pair.mine.index;
        std::copy(pair.theirs.begin(), pair.theirs.end(), theirs);
    });
}

int qpx_connect_qp(ibv_qp* qp, const qpx_endpoint* local, int gid_index,
                   const qpx_endpoint* remote) {
    return qpx_connect_qp_path(qp, local, gid_index, remote, nullptr);
}

int qpx_connect_qp_path(ibv_qp* qp, const qpx_endpoint* local, int gid_index,
                        const qpx_endpoint* remote, const qpx_path_options* path) {
    return guarded([&] {
        want(qp, "qp");
        want(local, "local");
        want(remote, "remote");
        qpx::connect(qp, local_of(*local, gid_index), from_c(*remote), path_of(path));
    });
}

int qpx_create_ah(ibv_pd* pd, const qpx_endpoint* local, int gid_index, const qpx_endpoint* remote,
                  const qpx_path_options* path, ibv_ah** ah) {
    return guarded([&] {
        want(pd, "pd");
        want(local, "local");
        want(remote, "remote");
        want(ah, "ah");
        *ah = qpx::create_ah(pd, local_of(*local, gid_index), from_c(*remote), path_of(path));
    });
}

int qpx_init_qp(ibv_qp* qp, const qpx_endpoint* local, const qpx_path_options* path) {
    return guarded([&] {
        want(qp, "qp");
        want(local, "local");
        qpx::Local mine;
        mine.endpoint = from_c(*local);
        qpx::to_init(qp, mine, path_of(path));
    });
}
