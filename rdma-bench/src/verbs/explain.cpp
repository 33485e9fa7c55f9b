// SPDX-License-Identifier: BSD-2-Clause
#include "verbs/explain.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rdma_bench {
namespace {

/// Returns the usual cause of a status; null if its name is sufficient.
const char* likely_cause(ibv_wc_status status) {
    switch (status) {
        case IBV_WC_LOC_LEN_ERR:
            return "a message is longer than the posted receive, or longer than the port's limit; "
                   "do both sides use the same -s?";
        case IBV_WC_LOC_QP_OP_ERR:
            return "the device refuses this kind of work request on this QP";
        case IBV_WC_LOC_PROT_ERR:
            return "an SGE lies outside its memory region, or the region lacks the access";
        case IBV_WC_WR_FLUSH_ERR:
            return "the QP went to the error state before this message; another completion says "
                   "why";
        case IBV_WC_BAD_RESP_ERR:
            return "the peer answered with something that does not belong to the request";
        case IBV_WC_REM_INV_REQ_ERR:
            return "the peer's QP does not allow the operation, or its receive is too short; do "
                   "both sides run the same test?";
        case IBV_WC_REM_ACCESS_ERR:
            return "the rkey or address is not (or no longer) valid at the peer; has the peer "
                   "ended?";
        case IBV_WC_REM_OP_ERR:
            return "the peer's device could not execute the operation";
        case IBV_WC_RETRY_EXC_ERR:
            return "the peer's QP is not up or the GID is wrong";
        case IBV_WC_RNR_RETRY_EXC_ERR:
            return "the peer posts no receives, or not fast enough (-r)";
        case IBV_WC_RESP_TIMEOUT_ERR:
            return "the peer does not answer";
        case IBV_WC_FATAL_ERR:
            return "the device failed";
        default:
            return nullptr;
    }
}

/// Returns the usual cause of an errno of a verb.
const char* likely_cause(const std::string& verb, int error) {
    if (error == ENOMEM) {
        return verb.find("post") != verb.npos ? "the queue is full or the request has too many SGEs"
               : verb.find("reg") != verb.npos ? "locked memory is limited: see `ulimit -l`"
                                               : "the device or this machine is out of resources";
    }
    if (error == EINVAL && verb.find("create") != verb.npos) {
        return "the device does not support this depth, inline size or QP type; `ibv_devinfo -v` "
               "lists its limits";
    }
    if (error == EINVAL && verb.find("modify") != verb.npos) {
        return "an attribute is not valid for this device, port or path";
    }
    if (error == EPERM || error == EACCES) {
        return "this user has no permission";
    }
    if (error == EIO || error == ENODEV) {
        return "the device is gone";
    }
    if (error == ENETUNREACH || error == EHOSTUNREACH || error == ETIMEDOUT) {
        return "no route to the peer's GID: check -x on both sides";
    }
    return nullptr;
}

std::string name_qp(std::uint32_t qpn, ibv_qp* qp) {
    char text[32];
    std::snprintf(text, sizeof text, "[QP 0x%06x, state ", qpn);
    return text + (qp ? qp_state(qp) : "unknown") + "]";
}

}  // namespace

std::string explain_status(ibv_wc_status status, std::uint32_t vendor) {
    std::string text =
        "completion " + std::to_string(static_cast<int>(status)) + ": " + ibv_wc_status_str(status);
    if (vendor) {
        char number[32];
        std::snprintf(number, sizeof number, " (vendor error 0x%x)", vendor);
        text += number;
    }
    const char* cause = likely_cause(status);
    return cause ? text + ": " + cause : text;
}

std::string explain_completion(const ibv_wc& wc, ibv_qp* qp) {
    return explain_status(wc.status, wc.vendor_err) + " " + name_qp(wc.qp_num, qp);
}

std::string explain_errno(const std::string& verb, int error) {
    std::string text =
        verb + ": " + std::strerror(error) + " (errno " + std::to_string(error) + ")";
    const char* cause = likely_cause(verb, error);
    return cause ? text + ": " + cause : text;
}

std::string qp_state(ibv_qp* qp) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init)) {
        return "unknown";
    }
    static const char* const kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    const auto state = static_cast<unsigned>(attr.qp_state);
    return state < std::size(kNames) ? kNames[state] : "unknown";
}

std::string name_qp(ibv_qp& qp) {
    return name_qp(qp.qp_num, &qp);
}

}  // namespace rdma_bench
