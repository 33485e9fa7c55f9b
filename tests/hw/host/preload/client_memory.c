/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that becomes shared without the application noticing. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define PAGE 4096

static char* pages(size_t count) {
    char* at = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(at != MAP_FAILED);
    return at;
}

static int peek(int fd, const void* at) {
    return method(fd, PEEK, (uintptr_t)at, 0, 0);
}

void client_share_keeps(void) {
    int fd = open_card();
    char* at = pages(600);

    for (int i = 0; i < 600; i += 3) {
        memset(at + i * PAGE, i % 251 + 1, PAGE);
    }
    errno = 77;
    share(fd, at, 600 * PAGE, 600 * PAGE);
    CHECK(errno == 77);
    for (int i = 0; i < 600; i++) {
        char want = (char)(i % 3 == 0 ? i % 251 + 1 : 0);

        CHECK(at[i * PAGE] == want && at[i * PAGE + PAGE - 1] == want);
    }
    at[5] = 99;
    CHECK(peek(fd, at + 5) == 99);
    CHECK(method(fd, POKE, (uintptr_t)(at + 7000), 55, 0) == 0);
    CHECK(at[7000] == 55);
    /* again: nothing moves, the same memory is reported */
    share(fd, at, 600 * PAGE, 600 * PAGE);
    CHECK(at[5] == 99 && peek(fd, at + 7000) == 55);
    /* a part of it, and a range that exceeds it */
    share(fd, at + PAGE + 100, 2 * PAGE, 3 * PAGE);
}

void client_share_partial(void) {
    int fd = open_card();
    char* heap = malloc(100000);
    char* at = pages(4);

    memset(heap, 7, 100000);
    /* only whole pages are shared, so nothing of less than a page */
    CHECK(method(fd, SHARE, (uintptr_t)heap, 100000, 1) >= 96000 - PAGE);
    CHECK(heap[0] == 7 && heap[50000] == 7 && heap[99999] == 7);
    CHECK(peek(fd, heap + 50000) == 7);
    share(fd, at + 10, 100, 0);
    share(fd, at + 10, PAGE, 0);
    share(fd, at + 10, 2 * PAGE, PAGE);
    free(heap);
    heap = malloc(100000);
    memset(heap, 8, 100000);
}

void client_share_faults(void) {
    int fd = open_card();
    char* at = pages(4);

    CHECK(method(fd, SHARE, 0x1000, PAGE, 1) < 0 && errno == EFAULT);
    CHECK(munmap(at + PAGE, PAGE) == 0);
    CHECK(method(fd, SHARE, (uintptr_t)at, 4 * PAGE, 1) < 0 && errno == EFAULT);
    CHECK(mprotect(at + 3 * PAGE, PAGE, PROT_READ) == 0);
    CHECK(method(fd, SHARE, (uintptr_t)(at + 2 * PAGE), 2 * PAGE, 1) < 0 && errno == EFAULT);
    CHECK(method(fd, SHARE, (uintptr_t)(at + 2 * PAGE), 2 * PAGE, 0) == PAGE);
    CHECK(mprotect(at + 3 * PAGE, PAGE, PROT_NONE) == 0);
    CHECK(method(fd, SHARE, (uintptr_t)(at + 2 * PAGE), 2 * PAGE, 0) < 0 && errno == EFAULT);
    CHECK(method(fd, SHARE, ~0ULL - 100, 200, 0) < 0 && errno == EFAULT);
}

#define WRITERS 2
#define WORDS (4096 * 8)

static _Atomic uint64_t* words;
static atomic_bool stop;

/* Each word has one writer, which must read back what it wrote last. */
static void* writer(void* arg) {
    uintptr_t self = (uintptr_t)arg;
    uint64_t round = 1;

    for (; !atomic_load(&stop); round++) {
        for (size_t i = self; i < WORDS; i += WRITERS * 61) {
            atomic_store(&words[i], round);
        }
        for (size_t i = self; i < WORDS; i += WRITERS * 61) {
            CHECK(atomic_load(&words[i]) == round);
        }
    }
    return NULL;
}

void client_share_threads(void) {
    pthread_t threads[WRITERS];
    int fd = open_card();

    for (int round = 0; round < 20; round++) {
        char* at = pages(WORDS * 8 / PAGE);
        int shared;

        words = (_Atomic uint64_t*)at;
        atomic_store(&stop, false);
        for (uintptr_t i = 0; i < WRITERS; i++) {
            CHECK(pthread_create(&threads[i], NULL, writer, (void*)i) == 0);
        }
        usleep(1000);
        for (int i = 0; i < 4; i++) {
            shared = method(fd, SHARE, (uintptr_t)(at + (size_t)i * WORDS * 2), WORDS * 2, 1);
            /* 0: without userfaultfd the slow path is taken */
            CHECK(shared == WORDS * 2 || shared == 0);
        }
        usleep(1000);
        atomic_store(&stop, true);
        for (int i = 0; i < WRITERS; i++) {
            CHECK(pthread_join(threads[i], NULL) == 0);
        }
        if (shared > 0) {
            CHECK(peek(fd, at + 7 * WORDS) == *(unsigned char*)(at + 7 * WORDS));
        }
        CHECK(munmap(at, WORDS * 8) == 0);
    }
}

static void wait_for(pid_t child) {
    int status;

    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

void client_share_fork(void) {
    int fd = open_card();
    char* at = pages(8);
    pid_t child;

    memset(at, 1, 8 * PAGE);
    share(fd, at, 8 * PAGE, 8 * PAGE);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(at[0] == 1 && at[8 * PAGE - 1] == 1);
        memset(at, 2, 4 * PAGE);
        CHECK(at[0] == 2 && at[4 * PAGE] == 1);
        /* discarded pages are empty, in a child as well */
        CHECK(madvise(at, PAGE, MADV_DONTNEED) == 0);
        CHECK(at[0] == 0 && at[PAGE] == 2);
        CHECK(madvise(at + 4 * PAGE, PAGE, MADV_DONTNEED) == 0);
        CHECK(at[4 * PAGE] == 0);
        /* the child may register its own memory and inherited memory */
        share(fd, at, 8 * PAGE, 8 * PAGE);
        CHECK(at[PAGE] == 2 && at[5 * PAGE] == 1 && peek(fd, at + PAGE) == 2);
        exit(0);
    }
    wait_for(child);
    CHECK(at[0] == 1 && at[4 * PAGE] == 1);
    /* discarding pages that the child can see does not affect the child */
    CHECK(madvise(at, PAGE, MADV_DONTNEED) == 0);
    CHECK(at[0] == 0 && at[PAGE] == 1);
}

void client_share_dontfork(void) {
    int fd = open_card();
    char* at = pages(4);
    pid_t child;

    memset(at, 1, 4 * PAGE);
    CHECK(madvise(at, 4 * PAGE, MADV_DONTFORK) == 0);
    share(fd, at, 4 * PAGE, 4 * PAGE);
    CHECK(at[0] == 1);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        unsigned char there[4];

        CHECK(mincore(at, 4 * PAGE, there) < 0 && errno == ENOMEM);
        exit(0);
    }
    wait_for(child);
    CHECK(madvise(at, 4 * PAGE, MADV_DOFORK) == 0);
}

void client_share_dontneed(void) {
    int fd = open_card();
    char* at = pages(8);

    memset(at, 1, 8 * PAGE);
    share(fd, at + 2 * PAGE, 4 * PAGE, 4 * PAGE);
    CHECK(madvise(at + PAGE, 2 * PAGE, MADV_DONTNEED) == 0);
    CHECK(at[0] == 1 && at[PAGE] == 0 && at[2 * PAGE] == 0 && at[3 * PAGE] == 1);
    CHECK(madvise(at + 3 * PAGE, PAGE, MADV_FREE) == 0);
    CHECK(at[3 * PAGE] == 0 && at[4 * PAGE] == 1);
    at[2 * PAGE] = 9;
    CHECK(peek(fd, at + 2 * PAGE) == 9);
    CHECK(madvise(at + 7, PAGE, MADV_DONTNEED) < 0 && errno == EINVAL);
}

/* libc's realloc() moves mappings by a system call that is not intercepted. */
void client_share_realloc(void) {
    int fd = open_card();
    char* blocks[8];

    for (int i = 0; i < 8; i++) {
        uintptr_t first;

        blocks[i] = malloc(1 << 20);
        memset(blocks[i], i + 1, 1 << 20);
        /* whole mappings, as registration caches round */
        first = (uintptr_t)blocks[i] & ~4095UL;
        CHECK(method(fd, SHARE, first, (1 << 20), 1) == 1 << 20);
    }
    for (int round = 0; round < 2; round++) {
        size_t bytes = round ? 9 << 20 : 3 << 20;

        for (int i = 0; i < 8; i++) {
            blocks[i] = realloc(blocks[i], bytes);
            CHECK(blocks[i] && blocks[i][0] == i + 1 && blocks[i][(1 << 20) - 1] == i + 1);
            memset(blocks[i], i + 1, bytes);
        }
        for (int i = 0; i < 8; i++) {
            CHECK(blocks[i][0] == i + 1 && blocks[i][bytes - 1] == i + 1);
        }
        for (int i = 0; i < 8; i++) {
            blocks[i] = realloc(blocks[i], 1 << 20);
        }
    }
    for (int i = 0; i < 8; i++) {
        CHECK(blocks[i][0] == i + 1 && blocks[i][(1 << 20) - 1] == i + 1);
        free(blocks[i]);
    }
}

void client_share_mremap(void) {
    int fd = open_card();
    char* at = pages(16);
    char* next = pages(16);

    memset(at, 1, 16 * PAGE);
    memset(next, 2, 16 * PAGE);
    share(fd, at, 16 * PAGE, 16 * PAGE);
    share(fd, next, 16 * PAGE, 16 * PAGE);
    at = mremap(at, 16 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
    CHECK(at != MAP_FAILED && at[0] == 1 && at[16 * PAGE - 1] == 1);
    for (int i = 16 * PAGE; i < 64 * PAGE; i++) {
        CHECK(at[i] == 0);
    }
    memset(at, 3, 64 * PAGE);
    CHECK(next[0] == 2 && next[16 * PAGE - 1] == 2);
    CHECK(mremap(next, 0, 16 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
    CHECK(mremap(next, 16 * PAGE, 16 * PAGE, MREMAP_MAYMOVE | 4, NULL) == MAP_FAILED);
    CHECK(next[0] == 2);
    share(fd, at, 64 * PAGE, 64 * PAGE);
    CHECK(peek(fd, at + 63 * PAGE) == 3);
}

static void* on_stack(void* arg) {
    char buffer[20 * PAGE];
    int fd = *(int*)arg;

    memset(buffer, 5, sizeof(buffer));
    CHECK(method(fd, SHARE, (uintptr_t)buffer, sizeof(buffer), 1) == 0);
    CHECK(buffer[0] == 5 && buffer[sizeof(buffer) - 1] == 5);
    return NULL;
}

void client_share_stack(void) {
    int fd = open_card();
    pthread_t thread;

    on_stack(&fd);
    CHECK(pthread_create(&thread, NULL, on_stack, &fd) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* The library's file is larger than any limit of RLIMIT_FSIZE. */
void client_share_file_limit(void) {
    struct rlimit before, low;
    int fd = open_card();
    char* first = pages(4);
    char* next = pages(4);

    share(fd, first, 4 * PAGE, 4 * PAGE);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    low = before;
    low.rlim_cur = 1 << 30;
    CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
    memset(next, 5, 4 * PAGE);
    share(fd, next, 4 * PAGE, 0);
    share(fd, first, 4 * PAGE, 4 * PAGE);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    share(fd, next, 4 * PAGE, 4 * PAGE);
    CHECK(next[0] == 5 && peek(fd, next + 3 * PAGE) == 5);
}

/* Programs that close all unknown descriptors must not close the library's. */
void client_share_close_all(void) {
    int fd = open_card();
    char* at = pages(8);

    memset(at, 1, 8 * PAGE);
    share(fd, at, 4 * PAGE, 4 * PAGE);
    for (int i = 3; i < 1024; i++) {
        if (i != fd) {
            close(i);
        }
    }
    CHECK(close_range((unsigned)fd + 1, ~0u, 0) == 0);
    closefrom(fd + 1);
    CHECK(madvise(at, PAGE, MADV_DONTNEED) == 0 && at[0] == 0 && at[PAGE] == 1);
    share(fd, at, 8 * PAGE, 8 * PAGE);
    CHECK(at[PAGE] == 1 && peek(fd, at + PAGE) == 1 && peek(fd, at + 7 * PAGE) == 1);
}

static long shared_kb(void) {
    char line[256];
    long value = -1;
    FILE* file = fopen("/proc/meminfo", "r");

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Shmem: %ld", &value) == 1) {
            break;
        }
    }
    fclose(file);
    return value;
}

/* Register, use, free, repeatedly: memory must not accumulate. */
void client_share_gives_back(void) {
    int fd = open_card();
    long before = shared_kb();

    for (int i = 0; i < 40; i++) {
        char* at = pages(4096);

        memset(at, 1, 4096 * PAGE);
        share(fd, at, 4096 * PAGE, 4096 * PAGE);
        CHECK(munmap(at, 4096 * PAGE) == 0);
    }
    /* 640 MiB were shared in total */
    CHECK(shared_kb() - before < 200 << 10);
}
