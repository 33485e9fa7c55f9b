// SPDX-License-Identifier: BSD-2-Clause
// The C interface to what is asked of the device.
#include "qpx/verbs.h"

#include <algorithm>

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

/// @throws Error(Argument): the peer was told something else than `gid_index` stands for
qpx::Local local_of(const qpx_endpoint& local, int gid_index) {
    qpx::Local mine;
    mine.endpoint = from_c(local);
    mine.gid = {.index = gid_index, .gid = mine.endpoint.gid};
    for (std::size_t i = 0; i < mine.endpoint.candidates.size(); ++i) {
        const qpx::GidCandidate& candidate = mine.endpoint.candidates[i];
        const int index = local.candidates[i].gid_index;
        if (index < 0) {
            throw Error(ErrorCode::Argument,
                        "the local endpoint's candidates have no gid_index, as those of a peer: "
                        "keep what qpx_describe() filled");
        }
        mine.choices.push_back({index, candidate.gid, type_of(candidate.type)});
        if (candidate.wish != qpx::GidCandidate::Wish::None) {
            mine.gid = mine.choices.back();
        }
    }
    if (mine.gid.index != gid_index) {
        throw Error(ErrorCode::Argument,
                    "gid_index is " + std::to_string(gid_index) + ", but the peer is told of " +
                        std::to_string(mine.gid.index) +
                        ": give the wanted index to qpx_describe(), and here what it said");
    }
    return mine;
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
        const qpx::Local described = qpx::describe(qp, describe_of(options, connection));
        qpx::c::fill(*local, described.endpoint);
        for (uint32_t i = 0; i < local->candidate_count; ++i) {
            local->candidates[i].gid_index = described.choices.at(i).index;
        }
        *chosen_gid_index = described.gid.index;
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
