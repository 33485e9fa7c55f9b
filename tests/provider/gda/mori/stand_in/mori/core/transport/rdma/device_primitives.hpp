// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Stands for MORI's header of this name, so that Dingo's provider is tested where no MORI is: names
// and arguments as there, the fields that the provider uses. scripts/mori.sh takes MORI's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mori::core {

enum ProviderType { Unknown = 0, DINGO = 5 };

enum atomicType {
    AMO_INC,
    AMO_SET,
    AMO_ADD,
    AMO_AND,
    AMO_SIGNAL_ADD,
    AMO_FETCH,
    AMO_FETCH_INC,
    AMO_FETCH_ADD,
    AMO_SWAP,
    AMO_COMPARE_SWAP,
};

struct WorkQueueHandle {
    std::uint32_t postIdx = 0, dbTouchIdx = 0, doneIdx = 0;
    void* sqAddr = nullptr;
    void* dbrRecAddr = nullptr;
    void* dbrAddr = nullptr;
    std::uint32_t sqWqeNum = 0;
    std::uint64_t sq_dbval = 0;
};

struct CompletionQueueHandle {
    void* cqAddr = nullptr;
    void* dbrRecAddr = nullptr;
    std::uint32_t consIdx = 0, cq_consumer = 0, cq_dbpos = 0, cqeNum = 0, pollCqLock = 0;
    std::uint64_t cq_dbval = 0;
};

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using Wq = WorkQueueHandle;

// Those with three numbers: the caller has counted, as MORI's shmem does.
template <ProviderType P>
u64 PostSend(Wq&, u32, u32, u32, bool, u32, std::uintptr_t, u64, std::size_t);
template <ProviderType P>
u64 PostSend(Wq&, u32, std::uintptr_t, u64, std::size_t);
template <ProviderType P, bool Read>
u64 PostReadWrite(Wq&, u32, u32, u32, bool, u32, std::uintptr_t, u64, std::uintptr_t, u64,
                  std::size_t);
template <ProviderType P, bool Read>
u64 PostReadWrite(Wq&, u32, std::uintptr_t, u64, std::uintptr_t, u64, std::size_t);
template <ProviderType P>
u64 PostWriteInline(Wq&, u32, u32, u32, bool, u32, void*, std::uintptr_t, u64, std::size_t);
template <ProviderType P>
u64 PostWriteInline(Wq&, u32, void*, std::uintptr_t, u64, std::size_t);
template <ProviderType P>
u64 PostAtomic(Wq&, u32, u32, u32, bool, u32, std::uintptr_t, u64, std::uintptr_t, u64, void*,
               void*, u32, atomicType);
template <ProviderType P>
u64 PostAtomic(Wq&, u32, std::uintptr_t, u64, std::uintptr_t, u64, void*, void*, u32, atomicType);
template <ProviderType P, typename T>
u64 PostAtomic(Wq&, u32, u32, u32, bool, u32, std::uintptr_t, u64, std::uintptr_t, u64, const T,
               const T, atomicType);
template <ProviderType P, typename T>
u64 PostAtomic(Wq&, u32, std::uintptr_t, u64, std::uintptr_t, u64, const T, const T, atomicType);

template <ProviderType P>
void UpdateSendDbrRecord(void*, u32);
template <ProviderType P>
void UpdateRecvDbrRecord(void*, u32);
template <ProviderType P>
void RingDoorbell(void*, u64);
template <ProviderType P>
void UpdateDbrAndRingDbSend(void*, u32, void*, u64, u32*);

template <ProviderType P>
int PollCqOnce(void*, u32, u32, u32*);
template <ProviderType P>
int PollCq(void*, u32, u32*);
template <ProviderType P>
int PollCq(void*, u32, u32*, u32*);
template <ProviderType P>
void UpdateCqDbrRecord(CompletionQueueHandle&, u32);
template <ProviderType P>
int PollCqAndUpdateDbr(CompletionQueueHandle&, u32*, u32*);

}  // namespace mori::core
