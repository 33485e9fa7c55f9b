/* SPDX-License-Identifier: BSD-2-Clause */
#include "arena.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/memfd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "descriptors.h"
#include "sys.h"

#define PAGE 4096ULL
#define ARENA_BYTES (1ULL << 62)
#define SLOT_BYTES (1ULL << 36) /* minimum distance of two pieces in the file */
#define MAX_SLOTS 16384         /* each takes one or two of the 65530 mappings of a process */
#define MAX_SMALL 1024          /* of these, pieces shorter than DINGO_SMALL_PIECE */
#define REAP_SLOTS 64
#define REAP_BYTES (64ULL << 20)

static atomic_int lock_word;
static int arena = -1;
static _Atomic ino_t arena_inode;
static uint64_t next_offset;
static struct dingo_slot slots[MAX_SLOTS];
static atomic_uint num_slots;
static atomic_uint moves; /* odd while slots are being moved */
/* Private views of the ancestors' files in a forked child. */
#define MAX_ANCESTORS 8
static ino_t ancestors[MAX_ANCESTORS];
static unsigned num_ancestors;
static struct {
    uint64_t va;
    uint64_t length;
} views[MAX_SLOTS];
static atomic_uint num_views;
static unsigned num_small;
/* The next scan for unused pieces takes place after a number of requests proportional to the
 * mappings that the last scan saw, so that the cost of a registration does not depend on the
 * number of pieces. */
static unsigned wishes_since_reap; /* requests for a slot, granted or not */
static unsigned mappings_seen;
static unsigned reap_wishes = REAP_SLOTS;
static uint64_t bytes_since_reap;
static uint64_t reap_bytes = REAP_BYTES;

/* A spin lock with all signals blocked. It is held for control operations only. */
void dingo_arena_lock(uint64_t* signals) {
    const uint64_t all = ~0ULL;
    int free_word = 0;

    (void)DINGO_SYS(SYS_rt_sigprocmask, SIG_SETMASK, &all, signals, sizeof(*signals));
    while (!atomic_compare_exchange_weak(&lock_word, &free_word, 1)) {
        free_word = 0;
        (void)DINGO_SYS(SYS_sched_yield);
    }
}

void dingo_arena_unlock(const uint64_t* signals) {
    atomic_store(&lock_word, 0);
    (void)DINGO_SYS(SYS_rt_sigprocmask, SIG_SETMASK, signals, NULL, sizeof(*signals));
}

int dingo_arena_move_up(int fd) {
    struct rlimit limit;
    long high = -1;

    if (DINGO_SYS(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) == 0) {
        long from = limit.rlim_cur > 1024 ? 900 : (long)limit.rlim_cur * 3 / 4;

        high = DINGO_SYS(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from);
    }
    if (high < 0) {
        return fd;
    }
    dingo_sys_close(fd);
    return (int)high;
}

static void forget_slots(void) {
    atomic_store(&num_slots, 0);
    num_small = 0;
}

/* Exceeding RLIMIT_FSIZE would raise SIGXFSZ. */
static bool may_grow(void) {
    struct rlimit limit;

    return DINGO_SYS(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 &&
           limit.rlim_cur == RLIM_INFINITY;
}

static bool make_arena(void) {
    struct stat st;
    const char* wish = getenv("DINGO_SHARE");
    int fd;

    if (wish && strcmp(wish, "0") == 0) {
        return false;
    }
    if (!may_grow()) {
        return false;
    }
    fd = (int)DINGO_SYS(SYS_memfd_create, "dingo-mr", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return false;
    }
    if (DINGO_SYS(SYS_ftruncate, fd, ARENA_BYTES) < 0 ||
        DINGO_SYS(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
        DINGO_SYS(SYS_fstat, fd, &st) < 0) {
        dingo_sys_close(fd);
        return false;
    }
    arena = dingo_arena_move_up(fd);
    arena_inode = st.st_ino;
    dingo_fd_set(arena, DINGO_FD_ARENA, 0);
    next_offset = 0;
    return true;
}

bool dingo_arena_is(int fd) {
    struct stat st;

    return DINGO_SYS(SYS_fstat, fd, &st) == 0 && st.st_ino == arena_inode &&
           DINGO_SYS(SYS_fcntl, fd, F_GET_SEALS) >= 0;
}

int dingo_arena_fd(void) {
    return arena >= 0 && dingo_arena_is(arena) ? arena : -1;
}

bool dingo_arena_ready(void) {
    if (arena < 0) {
        return make_arena();
    }
    if (dingo_arena_fd() >= 0) {
        return true;
    }
    /* The application has closed the descriptor. Existing mappings remain, on the slow path. */
    arena = -1;
    forget_slots();
    return make_arena();
}

bool dingo_arena_owns(const struct dingo_map* map) {
    return arena >= 0 && map->shared && map->inode != 0 && map->inode == arena_inode;
}

bool dingo_arena_inherited(const struct dingo_map* map) {
    for (unsigned i = 0; i < num_ancestors; i++) {
        if (!map->shared && map->inode == ancestors[i]) {
            return true;
        }
    }
    return false;
}

/* Without PROCMAP_QUERY each scan reads all mappings, so a piece may be added beyond MAX_SMALL
 * only for each page it has: reading must not cost more than the copying that it saves. */
static bool fits(uint64_t length) {
    uint64_t limit = dingo_maps_are_text() ? MAX_SMALL + length / PAGE : MAX_SLOTS;
    unsigned count = atomic_load(&num_slots);

    return arena >= 0 && count < MAX_SLOTS && count < limit &&
           (length >= DINGO_SMALL_PIECE || num_small < MAX_SMALL);
}

bool dingo_arena_has_room(uint64_t length) {
    /* the application may set a limit at any time */
    if (!may_grow()) {
        return false;
    }
    /* the file is created with the first piece */
    if (arena < 0 && !dingo_arena_ready()) {
        return false;
    }
    if (fits(length)) {
        return true;
    }
    wishes_since_reap++;
    if (dingo_arena_fd() >= 0) {
        dingo_arena_reap(false);
    }
    return fits(length);
}

struct dingo_slot* dingo_arena_add(uint64_t va, uint64_t length) {
    unsigned n = atomic_load(&num_slots);
    struct dingo_slot* slot = &slots[n];
    uint64_t room = SLOT_BYTES;

    while (room < length * 4) {
        room *= 2;
    }
    if (!fits(length) || next_offset + room > ARENA_BYTES) {
        return NULL;
    }
    *slot = (struct dingo_slot){.offset = next_offset, .length = length, .va = va};
    next_offset += room;
    bytes_since_reap += length;
    wishes_since_reap++;
    num_small += length < DINGO_SMALL_PIECE ? 1 : 0;
    slot->small = length < DINGO_SMALL_PIECE;
    atomic_store(&num_slots, n + 1);
    return slot;
}

void dingo_arena_drop_last(void) {
    num_small -= slots[atomic_fetch_sub(&num_slots, 1) - 1].small ? 1 : 0;
}

struct dingo_slot* dingo_arena_find(uint64_t offset) {
    unsigned low = 0;
    unsigned high = atomic_load(&num_slots);

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (slots[middle].offset <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? &slots[low - 1] : NULL;
}

static bool note_live(const struct dingo_map* map, void* arg) {
    struct dingo_slot* slot;
    uint64_t end = map->offset + (map->end - map->start);

    (void)arg;
    mappings_seen++;
    if (!dingo_arena_owns(map)) {
        return true;
    }
    slot = dingo_arena_find(map->offset);
    if (slot) {
        if (slot->live_end == 0 || map->offset <= slot->live_start) {
            slot->live_start = map->offset;
            slot->va = map->start;
        }
        if (end > slot->live_end) {
            slot->live_end = end;
        }
    }
    return true;
}

static void punch(uint64_t start, uint64_t end) {
    if (end > start) {
        (void)DINGO_SYS(SYS_fallocate, arena, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start,
                        end - start);
    }
}

/* Finds the live bytes of all slots. They are those that one of two scans finds: /proc is read in
 * pieces, so one scan misses a mapping that another thread's mremap() (of realloc()) moves
 * meanwhile from an address still to be read to one read already. */
static bool find_live(void) {
    for (unsigned scan = 0; scan < 2; scan++) {
        mappings_seen = 0;
        if (!dingo_maps_read(0, UINT64_MAX, false, note_live, NULL)) {
            return false;
        }
    }
    return true;
}

void dingo_arena_reap(bool now) {
    unsigned count = atomic_load(&num_slots);
    unsigned kept = 0;
    uint64_t live = 0;

    if (!now && wishes_since_reap < reap_wishes && bytes_since_reap < reap_bytes) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        slots[i].live_start = slots[i].live_end = 0;
    }
    if (!find_live()) {
        return;
    }
    atomic_fetch_add(&moves, 1);
    num_small = 0;
    for (unsigned i = 0; i < count; i++) {
        struct dingo_slot* slot = &slots[i];
        uint64_t end = slot->offset + slot->length;

        if (!slot->frozen) {
            punch(slot->offset, slot->live_end ? slot->live_start : end);
            punch(slot->live_end, slot->live_end ? end : 0);
        }
        if (slot->live_end) {
            slot->length = slot->live_end - slot->offset;
            live += slot->live_end - slot->live_start;
            num_small += slot->small ? 1 : 0;
            slots[kept++] = *slot;
        }
    }
    atomic_store(&num_slots, kept);
    atomic_fetch_add(&moves, 1);
    reap_wishes = mappings_seen / 4 > REAP_SLOTS ? mappings_seen / 4 : REAP_SLOTS;
    wishes_since_reap = 0;
    reap_bytes = live > REAP_BYTES ? live : REAP_BYTES;
    bytes_since_reap = 0;
}

bool dingo_arena_touches(uint64_t start, uint64_t end) {
    unsigned before = atomic_load(&moves);
    unsigned count = atomic_load_explicit(&num_slots, memory_order_acquire);

    for (unsigned i = 0; i < count; i++) {
        if (slots[i].va < end && start < slots[i].va + slots[i].length) {
            return true;
        }
    }
    if (DINGO_UNLIKELY(before & 1 || before != atomic_load(&moves))) {
        return true; /* the caller checks again with the lock held */
    }
    count = atomic_load_explicit(&num_views, memory_order_acquire);
    for (unsigned i = 0; i < count; i++) {
        if (views[i].va < end && start < views[i].va + views[i].length) {
            return true;
        }
    }
    return false;
}

void dingo_arena_freeze(void) {
    unsigned count = atomic_load(&num_slots);

    for (unsigned i = 0; i < count; i++) {
        slots[i].frozen = true;
    }
}

/* Replaces a shared mapping by a private one of the same bytes, so that the child's writes stay
 * in the child. */
static bool make_private(const struct dingo_map* map, void* arg) {
    int prot = (map->readable ? PROT_READ : 0) | (map->writable ? PROT_WRITE : 0) |
               (map->executable ? PROT_EXEC : 0);

    (void)arg;
    if (dingo_arena_owns(map)) {
        unsigned n = atomic_load(&num_views);

        if (n < MAX_SLOTS) {
            views[n].va = map->start;
            views[n].length = map->end - map->start;
            atomic_store(&num_views, n + 1);
        }
        (void)DINGO_SYS(SYS_mmap, map->start, map->end - map->start, prot, MAP_PRIVATE | MAP_FIXED,
                        arena, map->offset);
    }
    return true;
}

void dingo_arena_leave(void) {
    if (arena < 0) {
        return;
    }
    if (dingo_arena_fd() >= 0) {
        (void)dingo_maps_read(0, UINT64_MAX, false, make_private, NULL);
        ancestors[num_ancestors < MAX_ANCESTORS ? num_ancestors++ : 0] = arena_inode;
        dingo_sys_close(arena);
        dingo_fd_forget(arena);
    }
    arena = -1;
    forget_slots();
}
