/* SPDX-License-Identifier: BSD-2-Clause */
#include "convert.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "sys.h"

#define CHUNK (1ULL << 20) /* bytes copied at a time, as other threads may wait for the copy */
#define PAGE 4096ULL

/* Newer than the headers of some systems. */
#define UFFD_USER_MODE_ONLY_FLAG 1
#define UFFD_FEATURE_WP_UNPOPULATED_BIT (1ULL << 13)
#define MADV_POPULATE_READ_ADVICE 22

static bool other_threads(void) {
    struct stat st;

    /* st_nlink of a directory is 2 plus its subdirectories, here the threads */
    return DINGO_SYS(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) < 0 || st.st_nlink > 3;
}

static bool uffd_api(struct dingo_guard* guard, uint64_t features) {
    struct uffdio_api api = {.api = UFFD_API, .features = features};

    return DINGO_SYS(SYS_ioctl, guard->uffd, UFFDIO_API, &api) == 0;
}

bool dingo_guard_open(struct dingo_guard* guard) {
    guard->uffd = -1;
    guard->protects_missing = false;
    guard->pagemap = -1;
    if (!other_threads()) {
        guard->pagemap = dingo_sys_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        return true;
    }
    /* Without the privilege, a system call of another thread that writes to these pages
     * meanwhile fails with EFAULT. A plain store waits in both cases. */
    guard->uffd = (int)DINGO_SYS(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (guard->uffd < 0) {
        guard->uffd =
            (int)DINGO_SYS(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY_FLAG);
    }
    if (guard->uffd < 0) {
        return false;
    }
    guard->protects_missing =
        uffd_api(guard, UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_UNPOPULATED_BIT);
    if (!guard->protects_missing && !uffd_api(guard, UFFD_FEATURE_PAGEFAULT_FLAG_WP)) {
        dingo_guard_close(guard);
        return false;
    }
    return true;
}

void dingo_guard_close(struct dingo_guard* guard) {
    if (guard->uffd >= 0) {
        dingo_sys_close(guard->uffd);
        guard->uffd = -1;
    }
    if (guard->pagemap >= 0) {
        dingo_sys_close(guard->pagemap);
        guard->pagemap = -1;
    }
}

static bool protect(const struct dingo_guard* guard, uint64_t start, uint64_t length) {
    struct uffdio_register reg = {.range = {start, length}, .mode = UFFDIO_REGISTER_MODE_WP};
    struct uffdio_writeprotect wp = {.range = {start, length}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};

    if (guard->uffd < 0) {
        return true;
    }
    if (DINGO_SYS(SYS_ioctl, guard->uffd, UFFDIO_REGISTER, &reg) < 0) {
        return false;
    }
    /* Old kernels cannot write-protect a missing page, so the zero page is mapped everywhere
     * first. */
    if ((guard->protects_missing ||
         DINGO_SYS(SYS_madvise, start, length, MADV_POPULATE_READ_ADVICE) == 0) &&
        DINGO_SYS(SYS_ioctl, guard->uffd, UFFDIO_WRITEPROTECT, &wp) == 0) {
        return true;
    }
    (void)DINGO_SYS(SYS_ioctl, guard->uffd, UFFDIO_UNREGISTER, &reg.range);
    return false;
}

static void give_up(const struct dingo_guard* guard, uint64_t start, uint64_t length) {
    struct uffdio_range range = {start, length};

    if (guard->uffd >= 0) {
        (void)DINGO_SYS(SYS_ioctl, guard->uffd, UFFDIO_UNREGISTER, &range);
    }
}

/* Wakes the threads that waited; they retry on the new mapping. */
static void wake(const struct dingo_guard* guard, uint64_t start, uint64_t length) {
    struct uffdio_range range = {start, length};

    if (guard->uffd >= 0) {
        (void)DINGO_SYS(SYS_ioctl, guard->uffd, UFFDIO_WAKE, &range);
    }
}

static bool is_zero(const uint64_t* words) {
    uint64_t any = 0;

    for (unsigned i = 0; i < PAGE / 8 && !any; i += 8) {
        any = words[i] | words[i + 1] | words[i + 2] | words[i + 3] | words[i + 4] | words[i + 5] |
              words[i + 6] | words[i + 7];
    }
    return !any;
}

/* Pages of a chunk that may have content: present or swapped. */
struct touched {
    bool known;
    uint64_t pages[CHUNK / PAGE];
};
#define PAGEMAP_SWAPPED (1ULL << 62)
#define PAGEMAP_PRESENT (1ULL << 63)

static void find_touched(struct touched* touched, const struct dingo_guard* guard,
                         const struct dingo_map* map, uint64_t start, uint64_t length) {
    long bytes = (long)(length / PAGE * sizeof(touched->pages[0]));

    /* an untouched page of a private file mapping has the file's content */
    touched->known = guard->pagemap >= 0 && map->inode == 0 &&
                     DINGO_SYS(SYS_pread64, guard->pagemap, touched->pages, bytes,
                               start / PAGE * sizeof(touched->pages[0])) == bytes;
}

static bool is_empty(const struct touched* touched, uint64_t start, uint64_t at) {
    if (touched->known && !(touched->pages[at / PAGE] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED))) {
        return true;
    }
    return is_zero((const uint64_t*)(uintptr_t)(start + at));
}

/* Copies pages to the file. Pages of zeros stay holes, so memory that was never touched takes no
 * space. */
static bool copy(const struct touched* touched, uint64_t start, uint64_t length, int fd,
                 uint64_t offset) {
    uint64_t at = 0;

    while (at < length) {
        uint64_t run = at;

        while (run < length && !is_empty(touched, start, run)) {
            run += PAGE;
        }
        while (at < run) {
            long done = DINGO_SYS(SYS_pwrite64, fd, start + at, run - at, offset + at);

            if (done <= 0 && done != -EINTR) {
                return false;
            }
            at += done > 0 ? (uint64_t)done : 0;
        }
        while (at < length && is_empty(touched, start, at)) {
            at += PAGE;
        }
    }
    return true;
}

static void keep_flags(const struct dingo_map* map, uint64_t start, uint64_t length) {
    static const struct {
        uint32_t flag;
        int advice;
    } kept[] = {{DINGO_MAP_DONTFORK, MADV_DONTFORK},
                {DINGO_MAP_DONTDUMP, MADV_DONTDUMP},
                {DINGO_MAP_HUGEPAGE, MADV_HUGEPAGE},
                {DINGO_MAP_NOHUGEPAGE, MADV_NOHUGEPAGE}};

    for (unsigned i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if (map->flags & kept[i].flag) {
            (void)DINGO_SYS(SYS_madvise, start, length, kept[i].advice);
        }
    }
    if (map->flags & DINGO_MAP_LOCKED) {
        (void)DINGO_SYS(SYS_mlock, start, length);
    }
}

uint64_t dingo_convert(const struct dingo_guard* guard, const struct dingo_map* map, uint64_t start,
                       uint64_t end, int fd, uint64_t offset) {
    int prot = PROT_READ | PROT_WRITE | (map->executable ? PROT_EXEC : 0);
    uint64_t at = start;

    while (at < end) {
        uint64_t length = end - at < CHUNK ? end - at : CHUNK;
        uint64_t place = offset + (at - start);
        struct touched touched;

        if (!protect(guard, at, length)) {
            break;
        }
        find_touched(&touched, guard, map, at, length);
        if (!copy(&touched, at, length, fd, place) ||
            DINGO_SYS(SYS_mmap, at, length, prot, MAP_SHARED | MAP_FIXED, fd, place) < 0) {
            give_up(guard, at, length);
            break;
        }
        keep_flags(map, at, length);
        wake(guard, at, length);
        at += length;
    }
    return at - start;
}
