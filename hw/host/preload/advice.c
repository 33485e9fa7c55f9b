/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrappers of madvise(), mremap() and munmap(), which need special handling on shared memory.
 */
#include "advice.h"

#include <errno.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "arena.h"
#include "descriptors.h"
#include "moves.h"
#include "sys.h"

#define MADV_DONTNEED_LOCKED_ADVICE 24
#define LARGE_UNMAP (4ULL << 20)

typedef int madvise_fn(void*, size_t, int);

static atomic_bool flags_used;

bool dingo_advice_flags_used(void) {
    return atomic_load(&flags_used);
}

static int real_madvise(void* start, size_t length, int advice) {
    madvise_fn* real = DINGO_REAL(madvise_fn*, madvise);

    return real ? real(start, length, advice)
                : (int)dingo_sys_result(DINGO_SYS(SYS_madvise, start, length, advice));
}

struct discard {
    uint64_t start;
    uint64_t end;
    int advice;
    long result;
};

/* Makes the pages read as zeros, as MADV_DONTNEED does with private memory. */
static long discard_shared(const struct dingo_map* map, uint64_t start, uint64_t end) {
    return DINGO_SYS(SYS_fallocate, dingo_arena_fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     map->offset + (start - map->start), end - start);
}

/* As discard_shared(), but keeps the pages of the file, which another process still maps. */
static long discard_view(const struct dingo_map* map, uint64_t start, uint64_t end) {
    int prot = (map->readable ? PROT_READ : 0) | (map->writable ? PROT_WRITE : 0) |
               (map->executable ? PROT_EXEC : 0);
    long at = DINGO_SYS(SYS_mmap, start, end - start, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                        -1, 0);

    return at < 0 ? at : 0;
}

static bool discard(const struct dingo_map* map, void* arg) {
    struct discard* range = arg;
    uint64_t start = map->start > range->start ? map->start : range->start;
    uint64_t end = map->end < range->end ? map->end : range->end;
    long result;

    if (dingo_arena_owns(map)) {
        const struct dingo_slot* slot = dingo_arena_find(map->offset);

        result =
            slot && slot->frozen ? discard_view(map, start, end) : discard_shared(map, start, end);
    } else if (dingo_arena_inherited(map)) {
        result = discard_view(map, start, end);
    } else {
        result = DINGO_SYS(SYS_madvise, start, end - start, range->advice);
    }
    if (result < 0) {
        range->result = result;
    }
    return true;
}

DINGO_BIND(dingo_madvise, madvise);
DINGO_EXPORT int dingo_madvise(void* start, size_t length, int advice);
DINGO_EXPORT int dingo_madvise(void* start, size_t length, int advice) {
    struct discard range = {.start = (uintptr_t)start,
                            .end = (uintptr_t)start + ((length + 4095) & ~4095UL),
                            .advice = advice};
    uint64_t signals;
    bool whole;

    switch (advice) {
        case MADV_DONTNEED:
        case MADV_FREE:
        case MADV_DONTNEED_LOCKED_ADVICE:
            break;
        case MADV_DONTFORK:
        case MADV_WIPEONFORK:
        case MADV_DONTDUMP:
        case MADV_HUGEPAGE:
        case MADV_NOHUGEPAGE:
            atomic_store(&flags_used, true);
            return real_madvise(start, length, advice);
        default:
            return real_madvise(start, length, advice);
    }
    if (DINGO_LIKELY(!dingo_arena_touches(range.start, range.end)) || range.start & 4095 ||
        !dingo_fd_table_is_ours()) {
        return real_madvise(start, length, advice);
    }
    dingo_arena_lock(&signals);
    whole = dingo_maps_read(range.start, range.end, false, discard, &range);
    dingo_arena_unlock(&signals);
    return whole ? (int)dingo_sys_result(range.result) : real_madvise(start, length, advice);
}

typedef void* mremap_fn(void*, size_t, size_t, int, ...);

/* Growing and moving need no special handling: the file continues with zeros after each piece. */
DINGO_BIND(dingo_mremap, mremap);
DINGO_EXPORT void* dingo_mremap(void* start, size_t length, size_t new_length, int flags, ...);
DINGO_EXPORT void* dingo_mremap(void* start, size_t length, size_t new_length, int flags, ...) {
    mremap_fn* real = DINGO_REAL(mremap_fn*, mremap);
    uint64_t from = (uintptr_t)start;
    void* to = NULL;

    if (flags & (MREMAP_FIXED | 4 /* MREMAP_DONTUNMAP */)) {
        va_list args;

        va_start(args, flags);
        to = va_arg(args, void*);
        va_end(args);
    }
    if (DINGO_UNLIKELY(dingo_arena_touches(from, from + (length ? length : 1)))) {
        if (length == 0) {
            /* would duplicate private memory, which the kernel rejects */
            errno = EINVAL;
            return MAP_FAILED;
        }
        if (flags & 4) {
            /* the old address range would keep its content */
            errno = ENOMEM;
            return MAP_FAILED;
        }
    }
    dingo_tell_move(from, length);
    return real ? real(start, length, new_length, flags, to)
                : (void*)dingo_sys_result(
                      DINGO_SYS(SYS_mremap, start, length, new_length, flags, to));
}

DINGO_BIND(dingo_munmap, munmap);
DINGO_EXPORT int dingo_munmap(void* start, size_t length);
DINGO_EXPORT int dingo_munmap(void* start, size_t length) {
    int (*real)(void*, size_t) = DINGO_REAL(int (*)(void*, size_t), munmap);
    bool ours =
        length >= LARGE_UNMAP && dingo_arena_touches((uintptr_t)start, (uintptr_t)start + length);
    int result;

    dingo_tell_move((uintptr_t)start, length);
    result =
        real ? real(start, length) : (int)dingo_sys_result(DINGO_SYS(SYS_munmap, start, length));

    /* small pieces are freed when further pieces are shared */
    if (DINGO_UNLIKELY(ours) && result == 0 && dingo_fd_table_is_ours()) {
        uint64_t signals;

        dingo_arena_lock(&signals);
        if (dingo_arena_fd() >= 0) {
            dingo_arena_reap(true);
        }
        dingo_arena_unlock(&signals);
    }
    return result;
}
