// SPDX-License-Identifier: BSD-2-Clause
#include "backend/pmix/session.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

namespace qpx::backend {
namespace {

[[noreturn]] void fail(const std::string& what, pmix_status_t status) {
    const std::string text = what + ": " + PMIx_Error_string(status);
    switch (status) {
        case PMIX_ERR_NOT_SUPPORTED:
            throw Error(ErrorCode::Unsupported,
                        text +
                            "; this launcher's PMIx server lacks it (Slurm's has no publish "
                            "and lookup): use all_gather() or exchange(), or a qpxd:// URL");
        case PMIX_ERR_TIMEOUT:
            throw Error(ErrorCode::Timeout, text);
        case PMIX_ERR_UNREACH:
        case PMIX_ERR_LOST_CONNECTION:
            throw Error(ErrorCode::PeerGone, text);
        default:
            throw Error(ErrorCode::Refused, text);
    }
}

// PMIx calls its handlers in a thread of its own, without a pointer of ours.
struct Failures {
    std::mutex mutex;
    std::vector<PmixSession::Failure> list;
    int wake = -1;
};
Failures& failures() {
    static Failures all;
    return all;
}

void on_failure(size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t[], size_t,
                pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* data) {
    {
        Failures& all = failures();
        const std::lock_guard lock(all.mutex);
        // Events of the server itself have no rank.
        if (source && source->rank <= PMIX_RANK_VALID && all.wake >= 0) {
            all.list.push_back({source->rank, PMIx_Error_string(status)});
            const uint64_t one = 1;
            [[maybe_unused]] const ssize_t count = write(all.wake, &one, sizeof one);
        }
    }
    if (done) {
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
    }
}

struct Waiting {
    std::mutex mutex;
    std::condition_variable condition;
    bool done = false;
    pmix_status_t status = PMIX_SUCCESS;
};

// The caller may have given up by then: what it waits on is shared.
void on_done(pmix_status_t status, void* data) {
    const std::unique_ptr<std::shared_ptr<Waiting>> waiting(
        static_cast<std::shared_ptr<Waiting>*>(data));
    const std::lock_guard lock((*waiting)->mutex);
    (*waiting)->done = true;
    (*waiting)->status = status;
    (*waiting)->condition.notify_all();
}

void load(pmix_value_t& value, std::span<const std::byte> bytes) {
    pmix_byte_object_t object{};
    object.bytes = reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data()));
    object.size = bytes.size();
    PMIX_VALUE_LOAD(&value, &object, PMIX_BYTE_OBJECT);
}

std::vector<std::byte> bytes_of(const pmix_value_t& value) {
    if (value.type != PMIX_BYTE_OBJECT) {
        return {};
    }
    const auto bytes = std::as_bytes(std::span(value.data.bo.bytes, value.data.bo.size));
    return {bytes.begin(), bytes.end()};
}

void check_key(const std::string& key) {
    if (key.size() > PMIX_MAX_KEYLEN) {
        throw Error(ErrorCode::Limit, "PMIx takes keys of " + std::to_string(PMIX_MAX_KEYLEN) +
                                          " bytes, '" + key + "' has " +
                                          std::to_string(key.size()));
    }
}

// Slurm 22.05 runs a fence that collects nothing over a tree of nodes whose width slurmstepd does
// not know: no node waits for another one. Its ring, which all data takes, is well.
bool empty_fence_holds(std::string_view nspace) {
    const char* fence = std::getenv("SLURM_PMIX_FENCE");
    return !nspace.starts_with("slurm.pmix.") || (fence && std::string_view(fence) == "ring");
}

}  // namespace

std::shared_ptr<PmixSession> PmixSession::get() {
    static std::mutex mutex;
    static std::weak_ptr<PmixSession> session;
    const std::lock_guard lock(mutex);
    auto shared = session.lock();
    if (!shared) {
        shared.reset(new PmixSession);
        session = shared;
    }
    return shared;
}

PmixSession::PmixSession() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (std::getenv("PMIX_NAMESPACE") == nullptr) {
        throw Error(ErrorCode::Refused,
                    "pmix: no launcher with PMIx has started this process; start it by mpirun or "
                    "by srun --mpi=pmix, or use a qpxd:// URL");
    }
    if (const pmix_status_t status = PMIx_Init(&process_, nullptr, 0); status != PMIX_SUCCESS) {
        fail("PMIx_Init", status);
    }
    pmix_proc_t job{};
    PMIX_LOAD_PROCID(&job, process_.nspace, PMIX_RANK_WILDCARD);
    pmix_value_t* value = nullptr;
    const pmix_status_t status = PMIx_Get(&job, PMIX_JOB_SIZE, nullptr, 0, &value);
    if (status != PMIX_SUCCESS || value->type != PMIX_UINT32) {
        PMIx_Finalize(nullptr, 0);
        fail("the size of the job", status);
    }
    size_ = value->data.uint32;
    empty_fence_holds_ = empty_fence_holds(process_.nspace);
    PMIX_VALUE_RELEASE(value);
    watch_failures();
}

PmixSession::~PmixSession() {
    {
        const std::lock_guard lock(failures().mutex);
        failures().wake = -1;
    }
    PMIx_Finalize(nullptr, 0);
}

void PmixSession::watch_failures() {
    {
        const std::lock_guard lock(failures().mutex);
        failures().wake = wake_.get();
        failures().list.clear();
    }
    std::array<pmix_status_t, 3> codes = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_TERM_WO_SYNC,
                                          PMIX_ERR_PROC_ABORTING};
    // A launcher that tells nothing is no reason not to start.
    PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0, on_failure, nullptr,
                                nullptr);
}

void PmixSession::put(const std::string& key, std::span<const std::byte> bytes) {
    check_key(key);
    pmix_value_t value;
    PMIX_VALUE_CONSTRUCT(&value);
    load(value, bytes);
    const pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key.c_str(), &value);
    PMIX_VALUE_DESTRUCT(&value);
    if (status != PMIX_SUCCESS) {
        fail("PMIx_Put", status);
    }
}

void PmixSession::fence(bool collect, std::chrono::milliseconds timeout, const std::string& what) {
    if (const pmix_status_t status = PMIx_Commit(); status != PMIX_SUCCESS) {
        fail("PMIx_Commit", status);
    }
    collect = collect || !empty_fence_holds_;
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    auto waiting = std::make_shared<Waiting>();
    auto handed = std::make_unique<std::shared_ptr<Waiting>>(waiting);
    const pmix_status_t status = PMIx_Fence_nb(nullptr, 0, &info, 1, on_done, handed.get());
    PMIX_INFO_DESTRUCT(&info);
    if (status == PMIX_OPERATION_SUCCEEDED) {
        return;
    }
    if (status != PMIX_SUCCESS) {
        fail("PMIx_Fence", status);
    }
    [[maybe_unused]] const auto* freed_by_on_done = handed.release();
    std::unique_lock lock(waiting->mutex);
    const auto done = [&] { return waiting->done; };
    if (timeout.count() < 0) {
        waiting->condition.wait(lock, done);
    } else if (!waiting->condition.wait_for(lock, timeout, done)) {
        throw Error(ErrorCode::Timeout, what + ": not done after " +
                                            std::to_string(timeout.count()) +
                                            " ms; not all processes of the job have called it");
    }
    if (waiting->status != PMIX_SUCCESS) {
        fail(what, waiting->status);
    }
}

std::optional<std::vector<std::byte>> PmixSession::value_of(uint32_t rank, const std::string& key) {
    check_key(key);
    pmix_proc_t from{};
    PMIX_LOAD_PROCID(&from, process_.nspace, rank);
    // fence() has brought all there is: nothing is to be fetched or waited for.
    bool at_once = true;
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &at_once, PMIX_BOOL);
    pmix_value_t* value = nullptr;
    const pmix_status_t status = PMIx_Get(&from, key.c_str(), &info, 1, &value);
    PMIX_INFO_DESTRUCT(&info);
    if (status == PMIX_ERR_NOT_FOUND) {
        return std::nullopt;
    }
    if (status != PMIX_SUCCESS) {
        fail("PMIx_Get of rank " + std::to_string(rank), status);
    }
    auto bytes = bytes_of(*value);
    PMIX_VALUE_RELEASE(value);
    return bytes;
}

bool PmixSession::publish(const std::string& key, std::span<const std::byte> bytes) {
    check_key(key);
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, key.c_str());
    load(info.value, bytes);
    const pmix_status_t status = PMIx_Publish(&info, 1);
    PMIX_INFO_DESTRUCT(&info);
    if (status == PMIX_ERR_DUPLICATE_KEY) {
        return false;
    }
    if (status != PMIX_SUCCESS) {
        fail("PMIx_Publish", status);
    }
    return true;
}

std::optional<std::vector<std::byte>> PmixSession::lookup(const std::string& key) {
    check_key(key);
    pmix_pdata_t data;
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key.c_str());
    const pmix_status_t status = PMIx_Lookup(&data, 1, nullptr, 0);
    std::optional<std::vector<std::byte>> bytes;
    if (status == PMIX_SUCCESS && data.value.type == PMIX_BYTE_OBJECT) {
        bytes = bytes_of(data.value);
    }
    PMIX_PDATA_DESTRUCT(&data);
    if (status != PMIX_SUCCESS && status != PMIX_ERR_NOT_FOUND) {
        fail("PMIx_Lookup", status);
    }
    return bytes;
}

bool PmixSession::unpublish(const std::string& key) {
    check_key(key);
    std::string copy = key;
    std::array<char*, 2> keys = {copy.data(), nullptr};
    const pmix_status_t status = PMIx_Unpublish(keys.data(), nullptr, 0);
    if (status == PMIX_ERR_NOT_FOUND) {
        return false;
    }
    if (status != PMIX_SUCCESS) {
        fail("PMIx_Unpublish", status);
    }
    return true;
}

std::vector<PmixSession::Failure> PmixSession::take_failures() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(wake_.get(), &count, sizeof count);
    const std::lock_guard lock(failures().mutex);
    return std::exchange(failures().list, {});
}

}  // namespace qpx::backend
