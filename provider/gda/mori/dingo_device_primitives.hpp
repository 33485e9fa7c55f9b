// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// MORI's device functions for Dingo cards; hooks.py copies this file into a checkout of MORI. A WQE
// is one slot and has one number, as for MORI's other NICs; there are no doorbell records.
// docs/mori.md.
//
// PostRecv is missing: the host posts the receives of a Dingo QP.
#pragma once

#include <hip/hip_runtime.h>
#include <infiniband/dingo_gda_slot.h>

#include "mori/core/transport/rdma/device_primitives.hpp"
#include "mori/core/utils/utils.hpp"

namespace mori {
namespace core {

inline __device__ uint64_t* DingoSlot(const WorkQueueHandle& wq, uint32_t number) {
    return dingo_gda_slot(wq.sqAddr, wq.sqWqeNum, number);
}

/// Returns the value for RingDoorbell() if `number` is the last WQE.
inline __device__ uint64_t DingoDoorbell(const WorkQueueHandle& wq, uint32_t number) {
    return dingo_gda_slot_doorbell(number + 1, static_cast<uint32_t>(wq.sq_dbval));
}

inline __device__ uint32_t DingoNext(WorkQueueHandle& wq) {
    return atomicAdd(&wq.postIdx, 1U);
}

/* ------------------------------------ SEND, WRITE, READ ------------------------------------ */

inline __device__ uint64_t DingoPost(WorkQueueHandle& wq, uint32_t number, uint32_t opcode,
                                     bool signaled, uintptr_t laddr, uint64_t lkey, uintptr_t raddr,
                                     uint64_t rkey, size_t bytes) {
    dingo_gda_slot_transfer(DingoSlot(wq, number), opcode, signaled, laddr,
                            static_cast<uint32_t>(lkey), raddr, static_cast<uint32_t>(rkey),
                            static_cast<uint32_t>(bytes));
    return DingoDoorbell(wq, number);
}

template <>
inline __device__ uint64_t PostSend<ProviderType::DINGO>(WorkQueueHandle& wq, uint32_t number,
                                                         uint32_t, uint32_t, bool signaled,
                                                         uint32_t, uintptr_t laddr, uint64_t lkey,
                                                         size_t bytes) {
    return DingoPost(wq, number, DINGO_WR_SEND, signaled, laddr, lkey, 0, 0, bytes);
}

template <>
inline __device__ uint64_t PostSend<ProviderType::DINGO>(WorkQueueHandle& wq, uint32_t,
                                                         uintptr_t laddr, uint64_t lkey,
                                                         size_t bytes) {
    return DingoPost(wq, DingoNext(wq), DINGO_WR_SEND, true, laddr, lkey, 0, 0, bytes);
}

template <>
inline __device__ uint64_t PostReadWrite<ProviderType::DINGO, false>(
    WorkQueueHandle& wq, uint32_t number, uint32_t, uint32_t, bool signaled, uint32_t,
    uintptr_t laddr, uint64_t lkey, uintptr_t raddr, uint64_t rkey, size_t bytes) {
    return DingoPost(wq, number, DINGO_WR_WRITE, signaled, laddr, lkey, raddr, rkey, bytes);
}

template <>
inline __device__ uint64_t PostReadWrite<ProviderType::DINGO, true>(
    WorkQueueHandle& wq, uint32_t number, uint32_t, uint32_t, bool signaled, uint32_t,
    uintptr_t laddr, uint64_t lkey, uintptr_t raddr, uint64_t rkey, size_t bytes) {
    return DingoPost(wq, number, DINGO_WR_READ, signaled, laddr, lkey, raddr, rkey, bytes);
}

template <>
inline __device__ uint64_t PostReadWrite<ProviderType::DINGO, false>(WorkQueueHandle& wq, uint32_t,
                                                                     uintptr_t laddr, uint64_t lkey,
                                                                     uintptr_t raddr, uint64_t rkey,
                                                                     size_t bytes) {
    return DingoPost(wq, DingoNext(wq), DINGO_WR_WRITE, true, laddr, lkey, raddr, rkey, bytes);
}

template <>
inline __device__ uint64_t PostReadWrite<ProviderType::DINGO, true>(WorkQueueHandle& wq, uint32_t,
                                                                    uintptr_t laddr, uint64_t lkey,
                                                                    uintptr_t raddr, uint64_t rkey,
                                                                    size_t bytes) {
    return DingoPost(wq, DingoNext(wq), DINGO_WR_READ, true, laddr, lkey, raddr, rkey, bytes);
}

/* --------------------------- inline WRITE: DINGO_GDA_SLOT_INLINE bytes ---------------------------
 */

inline __device__ uint64_t DingoPostInline(WorkQueueHandle& wq, uint32_t number, bool signaled,
                                           const void* value, uintptr_t raddr, uint64_t rkey,
                                           size_t bytes) {
    dingo_gda_slot_write_inline(DingoSlot(wq, number), signaled, value,
                                bytes <= DINGO_GDA_SLOT_INLINE ? static_cast<uint32_t>(bytes) : 0,
                                raddr, static_cast<uint32_t>(rkey));
    return DingoDoorbell(wq, number);
}

template <>
inline __device__ uint64_t PostWriteInline<ProviderType::DINGO>(WorkQueueHandle& wq,
                                                                uint32_t number, uint32_t, uint32_t,
                                                                bool signaled, uint32_t,
                                                                void* value, uintptr_t raddr,
                                                                uint64_t rkey, size_t bytes) {
    return DingoPostInline(wq, number, signaled, value, raddr, rkey, bytes);
}

template <>
inline __device__ uint64_t PostWriteInline<ProviderType::DINGO>(WorkQueueHandle& wq, uint32_t,
                                                                void* value, uintptr_t raddr,
                                                                uint64_t rkey, size_t bytes) {
    return DingoPostInline(wq, DingoNext(wq), true, value, raddr, rkey, bytes);
}

/* ----------------------------------------- atomics ----------------------------------------- */

/// RoCE has FETCH_ADD and CMP_SWAP of 8 aligned bytes. Other operations (AND, SET ...) complete
/// with an error.
inline __device__ uint64_t DingoPostAtomic(WorkQueueHandle& wq, uint32_t number, bool signaled,
                                           uintptr_t laddr, uint64_t lkey, uintptr_t raddr,
                                           uint64_t rkey, uint64_t value, uint64_t compare,
                                           atomicType operation) {
    uint64_t* const slot = DingoSlot(wq, number);
    const auto key = static_cast<uint32_t>(lkey);
    const auto remote_key = static_cast<uint32_t>(rkey);
    switch (operation) {
        case AMO_INC:
        case AMO_FETCH_INC:
            value = 1;
            break;
        case AMO_FETCH:
            value = 0;
            break;
        case AMO_ADD:
        case AMO_FETCH_ADD:
        case AMO_SIGNAL_ADD:
            break;
        case AMO_COMPARE_SWAP:
            dingo_gda_slot_atomic(slot, DINGO_WR_CMP_SWAP, signaled, laddr, key, raddr, remote_key,
                                  value, compare);
            return DingoDoorbell(wq, number);
        default:
            MORI_PRINTF("Dingo: no atomic operation %d on RoCE\n", static_cast<int>(operation));
            dingo_gda_slot_wrong(slot);
            return DingoDoorbell(wq, number);
    }
    dingo_gda_slot_atomic(slot, DINGO_WR_FETCH_ADD, signaled, laddr, key, raddr, remote_key, value,
                          0);
    return DingoDoorbell(wq, number);
}

inline __device__ uint64_t DingoOperand(const void* value, uint32_t bytes) {
    if (value == nullptr)
        return 0;
    return bytes == sizeof(uint64_t) ? *static_cast<const uint64_t*>(value)
                                     : *static_cast<const uint32_t*>(value);
}

template <>
inline __device__ uint64_t PostAtomic<ProviderType::DINGO>(WorkQueueHandle& wq, uint32_t number,
                                                           uint32_t, uint32_t, bool signaled,
                                                           uint32_t, uintptr_t laddr, uint64_t lkey,
                                                           uintptr_t raddr, uint64_t rkey,
                                                           void* value, void* compare,
                                                           uint32_t bytes, atomicType operation) {
    return DingoPostAtomic(wq, number, signaled, laddr, lkey, raddr, rkey,
                           DingoOperand(value, bytes), DingoOperand(compare, bytes), operation);
}

template <>
inline __device__ uint64_t PostAtomic<ProviderType::DINGO>(WorkQueueHandle& wq, uint32_t,
                                                           uintptr_t laddr, uint64_t lkey,
                                                           uintptr_t raddr, uint64_t rkey,
                                                           void* value, void* compare,
                                                           uint32_t bytes, atomicType operation) {
    return DingoPostAtomic(wq, DingoNext(wq), true, laddr, lkey, raddr, rkey,
                           DingoOperand(value, bytes), DingoOperand(compare, bytes), operation);
}

// Signed operands are sign-extended to 8 bytes, so that adding -1 subtracts.
#define DINGO_POST_ATOMIC(TYPE)                                                              \
    template <>                                                                              \
    inline __device__ uint64_t PostAtomic<ProviderType::DINGO, TYPE>(                        \
        WorkQueueHandle & wq, uint32_t number, uint32_t, uint32_t, bool signaled, uint32_t,  \
        uintptr_t laddr, uint64_t lkey, uintptr_t raddr, uint64_t rkey, const TYPE value,    \
        const TYPE compare, atomicType operation) {                                          \
        return DingoPostAtomic(wq, number, signaled, laddr, lkey, raddr, rkey,               \
                               static_cast<uint64_t>(value), static_cast<uint64_t>(compare), \
                               operation);                                                   \
    }                                                                                        \
    template <>                                                                              \
    inline __device__ uint64_t PostAtomic<ProviderType::DINGO, TYPE>(                        \
        WorkQueueHandle & wq, uint32_t, uintptr_t laddr, uint64_t lkey, uintptr_t raddr,     \
        uint64_t rkey, const TYPE value, const TYPE compare, atomicType operation) {         \
        return DingoPostAtomic(wq, DingoNext(wq), true, laddr, lkey, raddr, rkey,            \
                               static_cast<uint64_t>(value), static_cast<uint64_t>(compare), \
                               operation);                                                   \
    }

DINGO_POST_ATOMIC(uint32_t)
DINGO_POST_ATOMIC(uint64_t)
DINGO_POST_ATOMIC(int32_t)
DINGO_POST_ATOMIC(int64_t)
#undef DINGO_POST_ATOMIC

/* ----------------------------------------- doorbell ----------------------------------------- */

template <>
inline __device__ void UpdateSendDbrRecord<ProviderType::DINGO>(void*, uint32_t) {}

template <>
inline __device__ void UpdateRecvDbrRecord<ProviderType::DINGO>(void*, uint32_t) {}

template <>
inline __device__ void RingDoorbell<ProviderType::DINGO>(void* doorbell, uint64_t value) {
    dingo_gda_slot_ring(doorbell, value);
}

template <>
inline __device__ void UpdateDbrAndRingDbSend<ProviderType::DINGO>(void*, uint32_t, void* doorbell,
                                                                   uint64_t value, uint32_t* lock) {
    AcquireLock(lock);
    dingo_gda_slot_ring(doorbell, value);
    ReleaseLock(lock);
}

/* ------------------------------------- completion queue ------------------------------------- */

/// Returns the status, or -1 if there is no completion yet.
template <>
inline __device__ int PollCqOnce<ProviderType::DINGO>(void* cq, uint32_t entries, uint32_t number,
                                                      uint32_t* wqe) {
    uint32_t ignored;
    return dingo_gda_slot_poll(cq, entries, number, wqe != nullptr ? wqe : &ignored);
}

/// Waits for completion *number and stores the number of its WQE in *wqe. The caller advances
/// *number.
template <>
inline __device__ int PollCq<ProviderType::DINGO>(void* cq, uint32_t entries, uint32_t* number,
                                                  uint32_t* wqe) {
    int status;
    do {
        status = PollCqOnce<ProviderType::DINGO>(cq, entries, *number, wqe);
    } while (status < 0);
    return status;
}

/// Claims the next completion and waits for it.
template <>
inline __device__ int PollCq<ProviderType::DINGO>(void* cq, uint32_t entries, uint32_t* number) {
    uint32_t mine = atomicAdd(number, 1U);
    uint32_t ignored;
    return PollCq<ProviderType::DINGO>(cq, entries, &mine, &ignored);
}

template <>
inline __device__ void UpdateCqDbrRecord<ProviderType::DINGO>(CompletionQueueHandle& cq,
                                                              uint32_t taken) {
    dingo_gda_slot_ring(cq.dbrRecAddr,
                        dingo_gda_slot_doorbell(taken, static_cast<uint32_t>(cq.cq_dbval)));
}

template <>
inline __device__ int PollCqAndUpdateDbr<ProviderType::DINGO>(CompletionQueueHandle& cq,
                                                              uint32_t* number, uint32_t* lock) {
    AcquireLock(lock);
    const int status = PollCq<ProviderType::DINGO>(cq.cqAddr, cq.cqeNum, number);
    UpdateCqDbrRecord<ProviderType::DINGO>(cq, *number);
    ReleaseLock(lock);
    return status;
}

/// Consumes the present completions; the caller holds cq.pollCqLock. A failed WQE counts as done,
/// so that no thread waits forever: all later WQEs are flushed.
inline __device__ void DingoTake(WorkQueueHandle& wq, CompletionQueueHandle& cq) {
    uint32_t wqe = 0;
    uint32_t taken = cq.cq_consumer;
    const uint32_t before = taken;
    for (int status; taken - before < cq.cqeNum; ++taken) {
        status = PollCqOnce<ProviderType::DINGO>(cq.cqAddr, cq.cqeNum, taken, &wqe);
        if (status < 0)
            break;
        if (status > 0) {
            MORI_PRINTF("Dingo: WQE %u failed, status %d\n", wqe, status);
            assert(false && "a completion with an error");
        }
    }
    if (taken == before)
        return;
    cq.cq_consumer = taken;
    // Reports before other threads may post more: the CQ has no room for a whole ring in addition
    // to unreported entries. Not after each poll, as that costs a fence of system scope.
    if (taken - cq.cq_dbpos >= cq.cqeNum / 4) {
        UpdateCqDbrRecord<ProviderType::DINGO>(cq, taken);
        cq.cq_dbpos = taken;
    }
    dgda_store_device32(&wq.doneIdx, wqe + 1);
}

/// MORI's shmem quiet: waits until all rung WQEs are done or, with ToLive, all WQEs that any thread
/// has reserved so far.
template <bool ToLive>
inline __device__ void DingoQuiet(WorkQueueHandle& wq, CompletionQueueHandle& cq) {
    if (!IsFirstActiveLane())
        return;
    const uint32_t target = dgda_load_device32(ToLive ? &wq.postIdx : &wq.dbTouchIdx);
    unsigned int tries = 0;
    while (static_cast<int32_t>(dgda_load_device32(&wq.doneIdx) - target) < 0) {
        if (dgda_trylock(&cq.pollCqLock)) {
            DingoTake(wq, cq);
            dgda_unlock(&cq.pollCqLock);
        }
        dgda_pause(++tries);
    }
    __threadfence();
}

}  // namespace core
}  // namespace mori
