/* SPDX-License-Identifier: BSD-2-Clause */
#include "sharing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#include "advice.h"
#include "arena.h"
#include "backing.h"
#include "convert.h"
#include "descriptors.h"
#include "pins.h"
#include "sys.h"

#define PAGE 4096ULL
#define MAX_PIECES 64 /* maximum number of mappings examined per region */
/* Maximum populated by one call, as mmap() of another thread may wait for it. */
#define POPULATE (16ULL << 20)
/* Longest region whose pages are examined closely. */
#define CLOSE_LOOK (256ULL << 10)
#define MAX_PINS 64 /* pinned ranges at most; behind the last one all counts as pinned */

/* Newer than the headers of some systems. */
#define MADV_POPULATE_READ_ADVICE 22
#define MADV_POPULATE_WRITE_ADVICE 23

struct walk {
    struct dingo_shared_range* range;
    uint64_t end;
    uint64_t covered; /* the range is mapped as requested up to here */
    struct dingo_map pieces[MAX_PIECES];
    unsigned num_pieces;
    struct {
        uint64_t start;
        uint64_t end;
    } pins[MAX_PINS]; /* in order */
    unsigned num_pins;
};

#define ARENA_FD UINT32_MAX /* placeholder in a segment until the index is known */

static void report(struct dingo_shared_range* range, uint64_t start, uint64_t end,
                   uint64_t offset) {
    if (range->num_segments < range->max_segments) {
        range->segments[range->num_segments++] = (struct dingo_uverbs_segment){
            .va = start, .length = end - start, .offset = offset, .fd = ARENA_FD};
    }
}

/* Reports memory of a file, of which the card keeps a descriptor. */
static void report_file(struct walk* walk, const struct dingo_map* map) {
    struct dingo_shared_range* range = walk->range;
    uint64_t first = range->va & ~(PAGE - 1);
    uint64_t last = (walk->end + PAGE - 1) & ~(PAGE - 1);
    uint64_t start = map->start > first ? map->start : first;
    uint64_t end = map->end < last ? map->end : last;
    int fd;

    /* one descriptor is reserved for the arena */
    if (range->num_segments == range->max_segments || range->num_opened + 1 >= range->max_fds) {
        return;
    }
    /* opened for writing if possible, as the region's access rights may be extended */
    fd = dingo_backing_open(map, map->writable);
    if (fd < 0 && map->writable && !range->writable) {
        fd = dingo_backing_open(map, false);
    }
    if (fd >= 0) {
        range->segments[range->num_segments++] =
            (struct dingo_uverbs_segment){.va = start,
                                          .length = end - start,
                                          .offset = map->offset + (start - map->start),
                                          .fd = range->num_opened,
                                          .flags = DINGO_UVERBS_SEGMENT_FILE};
        range->fds[range->num_opened++] = fd;
    }
}

void dingo_shared_close(struct dingo_shared_range* range) {
    for (unsigned i = 0; i < range->num_opened; i++) {
        dingo_backing_close(range->fds[i]);
    }
    range->num_opened = 0;
}

/* Checks that the range is mapped; collects the parts that are shared and those that could be. */
static bool check(const struct dingo_map* map, void* arg) {
    struct walk* walk = arg;

    if (map->start > walk->covered || !map->readable || (walk->range->writable && !map->writable)) {
        return false;
    }
    walk->covered = map->end;
    if (dingo_arena_owns(map)) {
        /* report the whole mapping: regions inside it share the card's mapping */
        report(walk->range, map->start, map->end, map->offset);
    } else if (dingo_backing_possible(map)) {
        report_file(walk, map);
    } else if (walk->num_pieces < MAX_PIECES && !map->shared &&
               (map->inode == 0 || dingo_arena_inherited(map)) && !map->special && map->writable &&
               !(map->flags & DINGO_MAP_WIPEONFORK)) {
        walk->pieces[walk->num_pieces++] = *map;
    }
    return walk->covered < walk->end;
}

static bool look(struct walk* walk, bool with_flags) {
    walk->covered = walk->range->va;
    walk->num_pieces = 0;
    walk->range->num_segments = 0;
    dingo_shared_close(walk->range);
    return !dingo_maps_read(walk->range->va, walk->end, with_flags, check, walk) ||
           walk->covered >= walk->end;
}

/* Gets the whole pages of the region in piece `i`. Returns false if there are none, or if the
 * piece is the current stack (a thread's stack has no name). */
static bool whole_pages(const struct walk* walk, unsigned i, uint64_t* start, uint64_t* end) {
    const struct dingo_map* map = &walk->pieces[i];
    uint64_t first = (walk->range->va + PAGE - 1) & ~(PAGE - 1);
    uint64_t last = walk->end & ~(PAGE - 1);
    uint64_t stack = (uintptr_t)__builtin_frame_address(0);

    *start = map->start > first ? map->start : first;
    *end = map->end < last ? map->end : last;
    return *start < *end && !(map->start <= stack && stack < map->end);
}

static bool has_candidates(const struct walk* walk) {
    uint64_t start;
    uint64_t end;

    for (unsigned i = 0; i < walk->num_pieces; i++) {
        if (whole_pages(walk, i, &start, &end) && dingo_arena_has_room(end - start)) {
            return true;
        }
    }
    return false;
}

/* Asks the GPU drivers which parts of the pieces are pinned. Called without the lock, as a
 * driver has its own locks. */
static void find_pins(struct walk* walk) {
    bool closely = walk->end - walk->range->va <= CLOSE_LOOK;
    uint64_t at;
    uint64_t end;

    walk->num_pins = 0;
    for (unsigned i = 0; i < walk->num_pieces; i++) {
        if (!whole_pages(walk, i, &at, &end)) {
            continue;
        }
        while (at < end) {
            uint64_t to = dingo_pins_end(at, closely);

            if (to == at) {
                at += PAGE;
                continue;
            }
            if (walk->num_pins > 0 && walk->pins[walk->num_pins - 1].end >= at) {
                walk->pins[walk->num_pins - 1].end = to;
            } else if (walk->num_pins < MAX_PINS) {
                walk->pins[walk->num_pins].start = at;
                walk->pins[walk->num_pins++].end = to;
            } else {
                walk->pins[MAX_PINS - 1].end = UINT64_MAX;
                return;
            }
            at = to;
        }
    }
}

static void convert_range(const struct walk* walk, const struct dingo_guard* guard,
                          const struct dingo_map* map, uint64_t start, uint64_t end, int fd) {
    struct dingo_slot* slot = dingo_arena_add(start, end - start);

    if (!slot) {
        return;
    }
    slot->length = dingo_convert(guard, map, start, end, fd, slot->offset);
    if (slot->length == 0) {
        dingo_arena_drop_last();
    } else {
        report(walk->range, start, start + slot->length, slot->offset);
    }
}

static void convert(const struct walk* walk) {
    struct dingo_guard guard;
    uint64_t start;
    uint64_t end;
    int fd;

    dingo_arena_reap(false);
    fd = dingo_arena_fd();
    if (fd < 0 || !dingo_guard_open(&guard)) {
        return;
    }
    for (unsigned i = 0; i < walk->num_pieces; i++) {
        if (!whole_pages(walk, i, &start, &end)) {
            continue;
        }
        for (unsigned n = 0; n < walk->num_pins && start < end; n++) {
            if (walk->pins[n].end > start && walk->pins[n].start < end) {
                if (walk->pins[n].start > start) {
                    convert_range(walk, &guard, &walk->pieces[i], start, walk->pins[n].start, fd);
                }
                start = walk->pins[n].end;
            }
        }
        if (start < end) {
            convert_range(walk, &guard, &walk->pieces[i], start, end, fd);
        }
    }
    dingo_guard_close(&guard);
}

/* Returns true if no page is of a file or shared memory (bit 61 of pagemap). */
static bool is_private(uint64_t first, uint64_t last) {
    const uint64_t of_file = 1ULL << 61;
    uint64_t pages[256];
    int fd = dingo_sys_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool known = true;

    if (fd < 0) {
        return false;
    }
    for (uint64_t at = first; known && at < last;) {
        uint64_t left = (last - at) / PAGE;
        uint64_t count =
            left < sizeof(pages) / sizeof(pages[0]) ? left : sizeof(pages) / sizeof(pages[0]);
        long bytes = (long)(count * sizeof(pages[0]));

        known = DINGO_SYS(SYS_pread64, fd, pages, bytes, at / PAGE * sizeof(pages[0])) == bytes;
        for (uint64_t i = 0; known && i < count; i++) {
            known = !(pages[i] & of_file);
        }
        at += count * PAGE;
    }
    dingo_sys_close(fd);
    return known;
}

/* Fast path for a region for which the arena has no room. Returns true if its pages are mapped as
 * requested, which populating them proves without reading the mappings. */
static bool is_there(const struct dingo_shared_range* range, uint64_t end) {
    uint64_t first = range->va & ~(PAGE - 1);
    uint64_t last = (end + PAGE - 1) & ~(PAGE - 1);
    int advice = range->writable ? MADV_POPULATE_WRITE_ADVICE : MADV_POPULATE_READ_ADVICE;

    return last - first <= POPULATE && !dingo_arena_has_room(last - first) &&
           !dingo_arena_touches(first, last) &&
           DINGO_SYS(SYS_madvise, first, last - first, advice) == 0 && is_private(first, last);
}

enum outcome { FAULT, DONE, ASK_DRIVERS };

static enum outcome share(struct walk* walk, bool ask_drivers) {
    struct dingo_memory_status status;
    bool ready;

    if (is_there(walk->range, walk->end)) {
        return DONE;
    }
    ready = dingo_arena_ready();
    if (!look(walk, false)) {
        return FAULT;
    }
    if (!ready || !has_candidates(walk)) {
        return DONE;
    }
    if (ask_drivers) {
        return ASK_DRIVERS;
    }
    status = dingo_memory_status();
    /* Pinned pages must not be replaced, and the kernel does not tell which pages are pinned. */
    if (status.pinned > 0) {
        return DONE;
    }
    if ((dingo_advice_flags_used() || status.locked > 0) && !look(walk, true)) {
        return FAULT;
    }
    convert(walk);
    return DONE;
}

static enum outcome locked_share(struct walk* walk, bool ask_drivers) {
    struct dingo_shared_range* range = walk->range;
    enum outcome outcome;
    uint64_t signals;

    dingo_arena_lock(&signals);
    outcome = share(walk, ask_drivers);
    range->num_fds = range->num_opened;
    for (unsigned i = 0; i < range->num_segments; i++) {
        if (range->segments[i].fd == ARENA_FD) {
            range->segments[i].fd = range->num_opened;
            range->num_fds = range->num_opened + 1;
        }
    }
    if (range->num_fds > range->num_opened) {
        range->fds[range->num_opened] = dingo_arena_fd();
    }
    dingo_arena_unlock(&signals);
    return outcome;
}

/* Populates the pages that the card will map, as a NIC that pins pages does; otherwise the card
 * would allocate them. Called without the lock. Does nothing on kernels before 5.14. */
static int populate(const struct dingo_shared_range* range, uint64_t end) {
    uint64_t first = range->va & ~(PAGE - 1);
    uint64_t last = (end + PAGE - 1) & ~(PAGE - 1);

    for (uint32_t i = 0; i < range->num_segments; i++) {
        const struct dingo_uverbs_segment* segment = &range->segments[i];
        bool file = segment->flags & DINGO_UVERBS_SEGMENT_FILE;
        uint64_t at = segment->va > first ? segment->va : first;
        uint64_t to = segment->va + segment->length < last ? segment->va + segment->length : last;

        while (at < to) {
            uint64_t length = to - at < POPULATE ? to - at : POPULATE;
            long result = DINGO_SYS(
                SYS_madvise, at, length,
                file && !range->writable ? MADV_POPULATE_READ_ADVICE : MADV_POPULATE_WRITE_ADVICE);

            if (result == -EINVAL) {
                return 0;
            }
            if (result == 0) {
                at += length;
            } else if (result != -EINTR && result != -EAGAIN) {
                return (int)result;
            }
        }
    }
    return 0;
}

int dingo_share(struct dingo_shared_range* range) {
    struct walk walk = {.range = range, .end = range->va + range->length};
    enum outcome outcome;

    range->num_segments = 0;
    range->num_fds = 0;
    range->num_opened = 0;
    if (walk.end < range->va) {
        return -EFAULT;
    }
    /* a vfork() child shares its parent's table */
    if (!dingo_fd_table_is_ours()) {
        return 0;
    }
    outcome = locked_share(&walk, dingo_pins_possible());
    if (outcome == ASK_DRIVERS) {
        find_pins(&walk);
        outcome = locked_share(&walk, false);
    }
    return outcome == FAULT ? -EFAULT : populate(range, walk.end);
}
