// SPDX-License-Identifier: BSD-2-Clause
#include "backend/pmix/failures.h"

#include <optional>

namespace qpx::backend {
namespace {

bool has(const pmix_info_t& info, const char* key, pmix_data_type_t type) {
    return PMIX_CHECK_KEY(&info, key) && info.value.type == type;
}

// Information of an event besides its status.
struct Told {
    std::vector<pmix_proc_t> affected;
    std::optional<int> exit_code;
    std::string text;
    bool bad_state = false;
};

Told told_by(std::span<const pmix_info_t> info) {
    Told told;
    for (const pmix_info_t& one : info) {
        if (has(one, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC) && one.value.data.proc) {
            told.affected.push_back(*one.value.data.proc);
        } else if (has(one, PMIX_EVENT_AFFECTED_PROCS, PMIX_DATA_ARRAY) && one.value.data.darray &&
                   one.value.data.darray->type == PMIX_PROC) {
            const auto* procs = static_cast<const pmix_proc_t*>(one.value.data.darray->array);
            told.affected.insert(told.affected.end(), procs, procs + one.value.data.darray->size);
        } else if (has(one, PMIX_EXIT_CODE, PMIX_INT)) {
            told.exit_code = one.value.data.integer;
        } else if (has(one, PMIX_EVENT_TEXT_MESSAGE, PMIX_STRING) && one.value.data.string) {
            told.text = one.value.data.string;
        } else if (has(one, PMIX_PROC_STATE_STATUS, PMIX_PROC_STATE)) {
            told.bad_state = one.value.data.state >= PMIX_PROC_STATE_ERROR;
        }
    }
    return told;
}

bool in_job(const pmix_proc_t& proc, const std::string& nspace) {
    return proc.rank <= PMIX_RANK_VALID && PMIX_CHECK_NSPACE(proc.nspace, nspace.c_str());
}

}  // namespace

std::vector<pmix_status_t> failure_codes() {
    return {
    // Names of PMIx 3, deprecated in later versions: some servers still send them.
#ifdef PMIX_ERR_PROC_ABORTED
        PMIX_ERR_PROC_ABORTED,
#endif
#ifdef PMIX_ERR_PROC_ABORTING
        PMIX_ERR_PROC_ABORTING,
#endif
#ifdef PMIX_ERR_LOST_PEER_CONNECTION
        PMIX_ERR_LOST_PEER_CONNECTION,
#endif
        PMIX_ERR_PROC_REQUESTED_ABORT,
        PMIX_ERR_PROC_ABORTED_BY_SIG,
        PMIX_ERR_PROC_TERM_WO_SYNC,
        PMIX_ERR_PROC_KILLED_BY_CMD,
        PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED,
        PMIX_ERR_EXIT_NONZERO_TERM,
        PMIX_ERR_LOST_CONNECTION,
        PMIX_EVENT_PROC_TERMINATED,
    };
}

std::vector<PmixFailure> failures_of(pmix_status_t status, const pmix_proc_t* source,
                                     std::span<const pmix_info_t> info, const std::string& nspace) {
    Told told = told_by(info);
    if (status == PMIX_EVENT_PROC_TERMINATED && told.exit_code.value_or(0) == 0 &&
        !told.bad_state) {
        return {};
    }
    // Launchers name the process that ended in the event; libpmix itself passes it as the source.
    if (told.affected.empty() && source) {
        told.affected.push_back(*source);
    }
    std::string reason = PMIx_Error_string(status);
    if (told.exit_code.value_or(0) != 0) {
        reason += ", exit status " + std::to_string(*told.exit_code);
    }
    if (!told.text.empty()) {
        reason += ": " + told.text;
    }
    std::vector<PmixFailure> failed;
    for (const pmix_proc_t& proc : told.affected) {
        if (in_job(proc, nspace)) {
            failed.push_back({proc.rank, reason});
        }
    }
    return failed;
}

bool is_server_lost(pmix_status_t status, const pmix_proc_t* source, const std::string& nspace) {
    return status == PMIX_ERR_LOST_CONNECTION && source && !in_job(*source, nspace);
}

}  // namespace qpx::backend
