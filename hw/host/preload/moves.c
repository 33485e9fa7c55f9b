/* SPDX-License-Identifier: BSD-2-Clause */
#include "moves.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "descriptors.h"
#include "real.h"
#include "sys.h"

typedef void moved_fn(uintptr_t start, uintptr_t end);

static moved_fn* _Atomic moved;

/* Looked up by name by the provider. The callback must not unmap memory. */
DINGO_EXPORT void dingo_preload_watch_moves(moved_fn* told);
DINGO_EXPORT void dingo_preload_watch_moves(moved_fn* told) {
    atomic_store(&moved, told);
}

void dingo_tell_move(uintptr_t start, size_t length) {
    moved_fn* told = atomic_load_explicit(&moved, memory_order_acquire);

    if (DINGO_UNLIKELY(told != NULL) && length != 0 && dingo_fd_table_is_ours()) {
        told(start, start + length < start ? UINTPTR_MAX : start + length);
    }
}

typedef int mprotect_fn(void*, size_t, int);

DINGO_BIND(dingo_mprotect, mprotect);
DINGO_EXPORT int dingo_mprotect(void* start, size_t length, int protection);
DINGO_EXPORT int dingo_mprotect(void* start, size_t length, int protection) {
    mprotect_fn* real = DINGO_REAL(mprotect_fn*, mprotect);

    if ((protection & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE)) {
        dingo_tell_move((uintptr_t)start, length);
    }
    return real ? real(start, length, protection)
                : (int)dingo_sys_result(DINGO_SYS(SYS_mprotect, start, length, protection));
}
