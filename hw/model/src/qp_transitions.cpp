// SPDX-License-Identifier: BSD-2-Clause
#include "qp_transitions.h"

namespace dingo::model {
namespace {

using enum QpState;

constexpr std::uint32_t kRcTimers =
    DINGO_QPM_TIMEOUT | DINGO_QPM_RETRY_CNT | DINGO_QPM_RNR_RETRY | DINGO_QPM_MAX_RD_ATOMIC;
constexpr std::uint32_t kPath =
    DINGO_QPM_AV | DINGO_QPM_PATH_MTU | DINGO_QPM_DEST_QPN | DINGO_QPM_RQ_PSN;

constexpr std::uint32_t pair(QpState from, QpState to) {
    return static_cast<std::uint32_t>(from) << 8 | static_cast<std::uint32_t>(to);
}

/// RC and UC.
std::optional<QpTransition> connected(bool rc, QpState from, QpState to) {
    constexpr std::uint32_t init = DINGO_QPM_PKEY_INDEX | DINGO_QPM_PORT | DINGO_QPM_ACCESS;
    const std::uint32_t rnr = rc ? DINGO_QPM_MIN_RNR_TIMER : 0;
    const std::uint32_t running = DINGO_QPM_CUR_STATE | DINGO_QPM_ACCESS | rnr;
    switch (pair(from, to)) {
        case pair(kReset, kInit):
            return QpTransition{init, 0};
        case pair(kInit, kInit):
            return QpTransition{0, init};
        case pair(kInit, kRtr):
            return QpTransition{kPath | rnr | (rc ? DINGO_QPM_MAX_DEST_RD_ATOMIC : 0),
                                DINGO_QPM_ACCESS | DINGO_QPM_PKEY_INDEX};
        case pair(kRtr, kRts):
            return QpTransition{DINGO_QPM_SQ_PSN | (rc ? kRcTimers : 0), running};
        case pair(kRts, kRts):
        case pair(kSqd, kRts):
            return QpTransition{0, running};
        case pair(kRts, kSqd):
            return QpTransition{0, DINGO_QPM_EN_SQD_ASYNC_NOTIFY};
        case pair(kSqd, kSqd):
            return QpTransition{
                0, DINGO_QPM_AV | DINGO_QPM_ACCESS | DINGO_QPM_PKEY_INDEX |
                       (rc ? rnr | kRcTimers | DINGO_QPM_PORT | DINGO_QPM_MAX_DEST_RD_ATOMIC : 0)};
        case pair(kSqe, kRts):
            if (rc) {
                return std::nullopt;  // an RC QP never stops in SQE
            }
            return QpTransition{0, DINGO_QPM_CUR_STATE | DINGO_QPM_ACCESS};
        default:
            return std::nullopt;
    }
}

/// UD and GSI; a GSI QP's port is implied by its number.
std::optional<QpTransition> datagram(bool gsi, QpState from, QpState to) {
    constexpr std::uint32_t key = DINGO_QPM_PKEY_INDEX | DINGO_QPM_QKEY;
    const std::uint32_t init = key | (gsi ? 0 : DINGO_QPM_PORT);
    constexpr std::uint32_t running = DINGO_QPM_CUR_STATE | DINGO_QPM_QKEY;
    switch (pair(from, to)) {
        case pair(kReset, kInit):
            return QpTransition{init, 0};
        case pair(kInit, kInit):
            return QpTransition{0, init};
        case pair(kInit, kRtr):
        case pair(kSqd, kSqd):
            return QpTransition{0, key};
        case pair(kRtr, kRts):
            return QpTransition{DINGO_QPM_SQ_PSN, running};
        case pair(kRts, kRts):
        case pair(kSqd, kRts):
        case pair(kSqe, kRts):
            return QpTransition{0, running};
        case pair(kRts, kSqd):
            return QpTransition{0, DINGO_QPM_EN_SQD_ASYNC_NOTIFY};
        default:
            return std::nullopt;
    }
}

}  // namespace

std::optional<QpTransition> qp_transition(QpType type, QpState from, QpState to) {
    if (to == kReset) {
        return QpTransition{};  // permitted from every state
    }
    if (to == kErr) {
        return from == kReset ? std::nullopt : std::optional(QpTransition{});
    }
    switch (type) {
        case QpType::kRc:
            return connected(true, from, to);
        case QpType::kUc:
            return connected(false, from, to);
        case QpType::kUd:
            return datagram(false, from, to);
        case QpType::kGsi:
            return datagram(true, from, to);
    }
    return std::nullopt;
}

}  // namespace dingo::model
