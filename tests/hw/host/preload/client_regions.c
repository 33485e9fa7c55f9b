/* SPDX-License-Identifier: BSD-2-Clause */
/* Many regions, and pinned memory. */
#include <dlfcn.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define PAGE 4096UL
#define MANY 3000
#define LAST 500

static long lines_of(const char* path) {
    FILE* file = fopen(path, "r");
    long lines = 0;
    int c;

    CHECK(file);
    while ((c = getc(file)) != EOF) {
        lines += c == '\n';
    }
    fclose(file);
    return lines;
}

/* Returns the bytes that this process has got from read(), including files in /proc. */
static long bytes_read(void) {
    FILE* file = fopen("/proc/self/io", "r");
    long value = -1;

    CHECK(file && fscanf(file, "rchar: %ld", &value) == 1);
    fclose(file);
    return value;
}

static char* map_pages(size_t count) {
    char* at = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(at != MAP_FAILED);
    return at;
}

/* Small separate buffers: each would split the mapping, and each scan of /proc/self/maps would
 * take longer than the previous one. */
void client_share_many(void) {
    int fd = open_card();
    char* at = map_pages(2 * MANY);
    long mappings = lines_of("/proc/self/maps");
    long before = 0;

    for (size_t i = 0; i < MANY; i++) {
        char* buffer = at + 2 * i * PAGE;
        int shared;

        if (i == MANY - LAST) {
            before = bytes_read();
        }
        memset(buffer, (int)(i % 250) + 1, PAGE);
        shared = method(fd, SHARE, (uintptr_t)buffer, PAGE, 1);
        CHECK(shared == (int)PAGE || (shared == 0 && i > 500));
        CHECK(buffer[0] == (char)(i % 250 + 1) && buffer[PAGE] == 0);
    }
    CHECK((bytes_read() - before) / LAST < 4096);
    CHECK(lines_of("/proc/self/maps") - mappings < MANY);
    /* a large region still fits */
    share(fd, map_pages(64), 64 * PAGE, 64 * PAGE);
    /* missing pages are detected despite the many regions */
    CHECK(munmap(at + 2 * (MANY - 1) * PAGE, PAGE) == 0);
    CHECK(method(fd, SHARE, (uintptr_t)(at + 2 * (MANY - 1) * PAGE), PAGE, 1) < 0 &&
          errno == EFAULT);
    CHECK(mprotect(at + 2 * (MANY - 2) * PAGE, PAGE, PROT_READ) == 0);
    CHECK(method(fd, SHARE, (uintptr_t)(at + 2 * (MANY - 2) * PAGE), PAGE, 1) < 0 &&
          errno == EFAULT);
    CHECK(method(fd, SHARE, (uintptr_t)(at + 2 * (MANY - 2) * PAGE), PAGE, 0) == 0);
    /* released regions make room for new ones */
    CHECK(munmap(at, 2 * MANY * PAGE) == 0);
    for (size_t i = 0; i < MANY; i++) {
        at = map_pages(1);
        CHECK(method(fd, SHARE, (uintptr_t)at, PAGE, 1) >= 0);
        CHECK(munmap(at, PAGE) == 0);
    }
    share(fd, map_pages(1), PAGE, PAGE);
}

/* As share_many, with regions of slightly more than 64 KiB: a kernel that answers for an address
 * shares them all, an older one only as many as it can scan. */
void client_share_many_large(void) {
    enum { COUNT = 2000, TAIL = 300, PAGES = 17 };
    int fd = open_card();
    char* at = map_pages((size_t)COUNT * (PAGES + 1));
    int shared = 0;
    long before = 0;

    for (size_t i = 0; i < COUNT; i++) {
        char* buffer = at + i * (PAGES + 1) * PAGE;
        size_t length = (PAGES - i % 2) * PAGE;
        int got;

        if (i == COUNT - TAIL) {
            before = bytes_read();
        }
        buffer[0] = (char)(i % 250 + 1);
        got = method(fd, SHARE, (uintptr_t)buffer, length, 1);
        CHECK(got == (int)length || (got == 0 && i > 1000));
        CHECK(buffer[0] == (char)(i % 250 + 1) && buffer[length] == 0);
        shared += got > 0;
    }
    CHECK((bytes_read() - before) / TAIL < 4096);
    CHECK(shared == COUNT || getenv("OLD_KERNEL"));
    /* the larger a region, the more a scan is worth */
    share(fd, map_pages(MANY), MANY * PAGE, MANY * PAGE);
    /* missing pages are detected, and read-only pages when writing */
    at += (size_t)(COUNT - 1) * (PAGES + 1) * PAGE;
    CHECK(mprotect(at + 3 * PAGE, PAGE, PROT_READ) == 0);
    CHECK(method(fd, SHARE, (uintptr_t)at, PAGES * PAGE, 1) < 0 && errno == EFAULT);
    CHECK(method(fd, SHARE, (uintptr_t)at, PAGES * PAGE, 0) >= 0);
    CHECK(munmap(at + 3 * PAGE, PAGE) == 0);
    CHECK(method(fd, SHARE, (uintptr_t)at, PAGES * PAGE, 0) < 0 && errno == EFAULT);
}

/* The program allocates exactly the pages of the region, before the card accesses them. */
void client_share_populates(void) {
    enum { PAGES = 6000, BEFORE = 10, COUNT = 5000 }; /* more than one call populates */
    unsigned char there[PAGES];
    int fd = open_card();
    char* at = map_pages(PAGES);
    int sum = 0;

    share(fd, at + BEFORE * PAGE, COUNT * PAGE, COUNT * PAGE);
    CHECK(mincore(at, PAGES * PAGE, there) == 0);
    for (int i = 0; i < PAGES; i++) {
        sum += there[i] & 1;
        CHECK((i >= BEFORE && i < BEFORE + COUNT) == (there[i] & 1));
    }
    CHECK(sum == COUNT);
    /* a file that is too short has no pages there */
    fd = (int)syscall(SYS_memfd_create, "short", 0U);
    CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
    at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(at != MAP_FAILED);
    fd = open_card();
    CHECK(method(fd, SHARE, (uintptr_t)at, PAGE, 1) == (int)PAGE);
    CHECK(method(fd, SHARE, (uintptr_t)at, 4 * PAGE, 1) < 0 && errno == EFAULT);
}

/* Small regions inside a large one need no resources of their own, in the card as well. */
void client_share_inside(void) {
    int fd = open_card();
    char* at = map_pages(MANY);
    long mappings;
    int places;

    share(fd, at, MANY * PAGE, MANY * PAGE);
    mappings = lines_of("/proc/self/maps");
    places = method(fd, PLACES, 0, 0, 0);
    for (size_t i = 0; i < MANY; i++) {
        share(fd, at + i * PAGE, PAGE, PAGE);
    }
    CHECK(lines_of("/proc/self/maps") == mappings);
    CHECK(method(fd, PLACES, 0, 0, 0) == places);
}

/*
 * A user of pinned pages, such as io_uring with its fixed buffers, accesses those pages and not
 * others that are at the same address later.
 */
void client_share_pinned(void) {
    struct io_uring_params params;
    struct iovec buffer = {map_pages(16), 16 * PAGE};
    char* other = map_pages(16);
    int card = open_card();
    int ring;

    memset(&params, 0, sizeof(params));
    ring = (int)syscall(SYS_io_uring_setup, 4, &params);
    if (ring < 0 || syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1) < 0) {
        fprintf(stderr, "no io_uring here: not tested\n");
        exit(SKIPPED);
    }
    share(card, buffer.iov_base, 16 * PAGE, 0);
    CHECK(syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0) == 0);
    close(ring);
    share(card, other, 16 * PAGE, 16 * PAGE);
}

static void check_gpu_pages(int card, void (*pin)(uint64_t, uint64_t, int), int ranges) {
    char* at = map_pages(64);

    memset(at, 1, 64 * PAGE);
    pin((uintptr_t)at + 10 * PAGE + 100, 8 * PAGE, ranges);
    /* pages 10 to 18 contain it; the pages around them are shared as usual */
    share(card, at, 64 * PAGE, (64 - 9) * PAGE);
    CHECK(method(card, PEEK, (uintptr_t)at + 9 * PAGE, 0, 0) == 1);
    CHECK(method(card, PEEK, (uintptr_t)at + 10 * PAGE, 0, 0) < 0);
    CHECK(method(card, PEEK, (uintptr_t)at + 18 * PAGE, 0, 0) < 0);
    CHECK(method(card, PEEK, (uintptr_t)at + 19 * PAGE, 0, 0) == 1);
    CHECK(at[0] == 1 && at[64 * PAGE - 1] == 1);
    /* memory that was shared before it was pinned is the same for all */
    pin((uintptr_t)at, 64 * PAGE, ranges);
    share(card, at, 64 * PAGE, (64 - 9) * PAGE);
    pin(0, 0, ranges);
    share(card, at, 64 * PAGE, 64 * PAGE);
}

/* Ranges inside one page are found in short regions; long ones take two calls for each page. */
static void check_small_pins(int card, void (*pin)(uint64_t, uint64_t, int), long (*calls)(void)) {
    char* at = map_pages(1064);
    long before;

    memset(at, 1, 1064 * PAGE);
    pin((uintptr_t)at + 10 * PAGE + 512, 64, 1);
    share(card, at, 64 * PAGE, 63 * PAGE);
    CHECK(method(card, PEEK, (uintptr_t)at + 10 * PAGE, 0, 0) < 0);
    CHECK(method(card, PEEK, (uintptr_t)at + 11 * PAGE, 0, 0) == 1);
    before = calls();
    share(card, at + 64 * PAGE, 1000 * PAGE, 1000 * PAGE);
    CHECK(calls() - before == 2 * 1000);
    pin(0, 0, 1);
}

/* Pages pinned by a GPU driver are not replaced. */
void client_share_gpu(void) {
    void* cuda = dlopen(getenv("FAKE_CUDA"), RTLD_NOW);
    void (*pin)(uint64_t, uint64_t, int);
    int card = open_card();

    CHECK(cuda);
    pin = (void (*)(uint64_t, uint64_t, int))dlsym(cuda, "fake_pin");
    CHECK(pin);
    check_gpu_pages(card, pin, 1);
    check_gpu_pages(card, pin, 0);
    check_small_pins(card, pin, (long (*)(void))dlsym(cuda, "fake_calls"));
}

static void* load_cuda(void* arg) {
    CHECK(dlopen(getenv("FAKE_CUDA"), RTLD_NOW));
    return arg;
}

struct sharer {
    pthread_t thread;
    int card;
    char* at;
    int bytes;
};

static void* share_pages(void* arg) {
    struct sharer* sharer = arg;

    share(sharer->card, sharer->at, 64 * PAGE, sharer->bytes);
    return NULL;
}

/* Regions that are registered while another thread loads the GPU driver wait for it, the second one
 * as the first one does. */
void client_share_gpu_loads(void) {
    struct timespec a_while = {0, 200000000};
    struct sharer sharers[2];
    pthread_t loader;
    uint64_t range[2];
    char number[16];
    char byte;
    int pair[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    snprintf(number, sizeof(number), "%d", pair[1]);
    setenv("FAKE_CUDA_LOADS", number, 1);
    for (int i = 0; i < 2; i++) {
        sharers[i] = (struct sharer){.card = open_card(), .at = map_pages(64), .bytes = 64 * PAGE};
        memset(sharers[i].at, 1, 64 * PAGE);
    }
    range[0] = (uintptr_t)sharers[1].at + 16 * PAGE;
    range[1] = 16 * PAGE;
    sharers[1].bytes = 48 * PAGE;
    CHECK(pthread_create(&loader, NULL, load_cuda, NULL) == 0);
    CHECK(read(pair[0], &byte, 1) == 1);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&sharers[i].thread, NULL, share_pages, &sharers[i]) == 0);
        nanosleep(&a_while, NULL);
    }
    CHECK(write(pair[0], range, sizeof(range)) == sizeof(range));
    CHECK(pthread_join(loader, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(sharers[i].thread, NULL) == 0);
    }
}
