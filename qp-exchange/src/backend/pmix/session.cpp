// SPDX-License-Identifier: BSD-2-Clause
#include "backend/pmix/session.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "backend/pmix/launcher.h"

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

// Callback of PMIx_Fence_nb(). The state is shared, as the caller may have given up before.
void on_done(pmix_status_t status, void* data) {
    const std::unique_ptr<std::shared_ptr<PmixSession::Fence>> fence(
        static_cast<std::shared_ptr<PmixSession::Fence>*>(data));
    const std::lock_guard lock(launcher().mutex);
    (*fence)->done = true;
    (*fence)->status = status;
    launcher().changed.notify_all();
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

// Returns false if a fence without data does not synchronize: Slurm 22.05 runs it over a tree of
// nodes whose width slurmstepd does not know, so no node waits for another. Its ring, which carries
// data, works.
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
        const std::lock_guard lock(launcher().mutex);
        launcher().wake = -1;
    }
    PMIx_Finalize(nullptr, 0);
}

void PmixSession::watch_failures() {
    {
        Launcher& all = launcher();
        const std::lock_guard lock(all.mutex);
        all.nspace = process_.nspace;
        all.failed.clear();
        all.lost = false;
        all.wake = wake_.get();
    }
    // libpmix 4.2 passes an event with an affected process only to handlers that registered for
    // processes, and passes no other events to these. So register one handler of each kind.
    pmix_proc_t job{};
    PMIX_LOAD_PROCID(&job, process_.nspace, PMIX_RANK_WILDCARD);
    pmix_info_t affected;
    PMIX_INFO_CONSTRUCT(&affected);
    PMIX_INFO_LOAD(&affected, PMIX_EVENT_AFFECTED_PROC, &job, PMIX_PROC);
    // Errors are ignored: failures are then not reported.
    for (auto codes : {failure_codes(), std::vector<pmix_status_t>{PMIX_EVENT_NODE_DOWN}}) {
        PMIx_Register_event_handler(codes.data(), codes.size(), &affected, 1, on_event, nullptr,
                                    nullptr);
        PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0, on_event, nullptr,
                                    nullptr);
    }
    PMIX_INFO_DESTRUCT(&affected);
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

std::shared_ptr<PmixSession::Fence> PmixSession::start_fence(bool collect) {
    if (const pmix_status_t status = PMIx_Commit(); status != PMIX_SUCCESS) {
        fail("PMIx_Commit", status);
    }
    collect = collect || !empty_fence_holds_;
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    auto fence = std::make_shared<Fence>();
    auto handed = std::make_unique<std::shared_ptr<Fence>>(fence);
    const pmix_status_t status = PMIx_Fence_nb(nullptr, 0, &info, 1, on_done, handed.get());
    PMIX_INFO_DESTRUCT(&info);
    if (status == PMIX_SUCCESS) {
        [[maybe_unused]] const auto* freed_by_on_done = handed.release();
    } else if (status == PMIX_OPERATION_SUCCEEDED) {
        fence->done = true;
    } else {
        fail("PMIx_Fence", status);
    }
    return fence;
}

bool PmixSession::goes_on(const std::string& call) const {
    if (unfinished_ && unfinished_call_ != call) {
        throw Error(ErrorCode::Argument,
                    "pmix: an earlier call has timed out, and PMIx cannot cancel it: repeat that "
                    "call, with the same arguments, before any other");
    }
    return unfinished_ != nullptr;
}

void PmixSession::fence(bool collect, std::chrono::milliseconds timeout, const std::string& what,
                        const std::string& call) {
    // Some launchers complete a fence without failed processes, others never complete it.
    constexpr std::chrono::seconds grace(2);
    Launcher& all = launcher();
    if (fences_are_over_) {
        const std::lock_guard lock(all.mutex);
        throw Error(ErrorCode::PeerGone, what + ": " + gone(all));
    }
    const auto fence = goes_on(call) ? std::exchange(unfinished_, nullptr) : start_fence(collect);
    const net::Deadline deadline = net::Deadline::in(timeout);
    std::unique_lock lock(all.mutex);
    const auto wait = [&](net::Deadline until, auto ready) {
        if (until.at() == net::Deadline::never().at()) {
            all.changed.wait(lock, ready);
        } else {
            all.changed.wait_until(lock, until.at(), ready);
        }
    };
    wait(deadline, [&] { return fence->done || all.lost || !all.failed.empty(); });
    if (!fence->done && !deadline.passed()) {
        wait(net::Deadline(std::min(deadline.at(), net::Deadline::in(grace).at())),
             [&] { return fence->done || all.lost; });
    }
    if (!fence->done) {
        if (all.lost || !all.failed.empty()) {
            // The launcher still has this fence and would take a new one for its continuation.
            fences_are_over_ = true;
            throw Error(ErrorCode::PeerGone, what + ": " + gone(all));
        }
        unfinished_ = fence;
        unfinished_call_ = call;
        throw Error(ErrorCode::Timeout, what + ": not done after " +
                                            std::to_string(timeout.count()) +
                                            " ms; not all processes of the job have called it");
    }
    switch (fence->status) {
        case PMIX_SUCCESS:
            return;
        case PMIX_ERR_PARTIAL_SUCCESS:
            left_out_ = true;
            return;
        case PMIX_ERR_TIMEOUT:
        case PMIX_ERR_NOT_SUPPORTED:
            fail(what, fence->status);
        case PMIX_ERR_UNREACH:
        case PMIX_ERR_LOST_CONNECTION:
            all.lost = true;
            [[fallthrough]];
        default:
            throw Error(ErrorCode::PeerGone,
                        what + ": " + gone(all) + " (" + PMIx_Error_string(fence->status) + ")");
    }
}

std::string PmixSession::who_is_gone() const {
    const std::lock_guard lock(launcher().mutex);
    const Launcher& all = launcher();
    return left_out_ || all.lost || !all.failed.empty() ? gone(all) : std::string();
}

std::optional<std::vector<std::byte>> PmixSession::value_of(uint32_t rank, const std::string& key) {
    check_key(key);
    pmix_proc_t from{};
    PMIX_LOAD_PROCID(&from, process_.nspace, rank);
    // fence() has collected all values: do not fetch or wait.
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

std::vector<PmixFailure> PmixSession::failures(size_t known) const {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(wake_.get(), &count, sizeof count);
    const std::lock_guard lock(launcher().mutex);
    const auto& all = launcher().failed;
    return {all.begin() + static_cast<ptrdiff_t>(std::min(known, all.size())), all.end()};
}

}  // namespace qpx::backend
