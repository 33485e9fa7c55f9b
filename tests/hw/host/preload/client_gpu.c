/* SPDX-License-Identifier: BSD-2-Clause */
/* A GPU and the card use the same memory. Needs only the driver's libcuda.so.1. */
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "client.h"

#define PAGE 4096UL

typedef void cuda_fn(void);

static void* cuda;

static cuda_fn* function(const char* name) {
    cuda_fn* found = (cuda_fn*)dlsym(cuda, name);

    CHECK(found);
    return found;
}

static void start_cuda(void) {
    int device = 0;
    void* context = NULL;

    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda || ((int (*)(unsigned))function("cuInit"))(0) != 0 ||
        ((int (*)(int*, int))function("cuDeviceGet"))(&device, 0) != 0) {
        fprintf(stderr, "no CUDA device here: not tested\n");
        exit(SKIPPED);
    }
    CHECK(((int (*)(void**, int))function("cuDevicePrimaryCtxRetain"))(&context, device) == 0);
    CHECK(((int (*)(void*))function("cuCtxSetCurrent"))(context) == 0);
}

static void pin(void* at, size_t bytes) {
    /* flags PORTABLE, DEVICEMAP */
    CHECK(((int (*)(void*, size_t, unsigned))function("cuMemHostRegister_v2"))(at, bytes, 3) == 0);
}

/* The GPU fills `words` words of the pinned memory at `at`. */
static void gpu_writes(void* at, unsigned value, size_t words) {
    uint64_t there = 0;

    CHECK(((int (*)(uint64_t*, void*, unsigned))function("cuMemHostGetDevicePointer_v2"))(
              &there, at, 0) == 0);
    CHECK(((int (*)(uint64_t, unsigned, size_t))function("cuMemsetD32_v2"))(there, value, words) ==
          0);
    CHECK(((int (*)(void))function("cuCtxSynchronize"))() == 0);
}

static char* map_pages(size_t count) {
    char* at = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(at != MAP_FAILED);
    memset(at, 1, count * PAGE);
    return at;
}

static double now(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void client_share_cuda(void) {
    size_t large = 65536; /* pages */
    char* at;
    char* plain;
    double start;
    int card;

    start_cuda();
    card = open_card();

    /* memory unknown to the GPU is shared as usual */
    plain = map_pages(large);
    start = now();
    share(card, plain, large * PAGE, (int)(large * PAGE));
    fprintf(stderr, "256 MiB registered in %.0f ms\n", (now() - start) * 1e3);

    /* pinned, then registered: the pages are not replaced */
    at = map_pages(64);
    pin(at + 16 * PAGE, 16 * PAGE);
    gpu_writes(at + 16 * PAGE, 0x11111111, 16 * PAGE / 4);
    CHECK(at[16 * PAGE] == 0x11);
    share(card, at, 64 * PAGE, 48 * PAGE);
    gpu_writes(at + 16 * PAGE, 0x22222222, 16 * PAGE / 4);
    CHECK(at[16 * PAGE] == 0x22 && at[32 * PAGE - 1] == 0x22);
    CHECK(at[16 * PAGE - 1] == 1 && at[32 * PAGE] == 1);

    /* a range that is not aligned to pages */
    at = map_pages(64);
    pin(at + 16 * PAGE + 512, 15 * PAGE);
    share(card, at, 64 * PAGE, 48 * PAGE);
    gpu_writes(at + 16 * PAGE + 512, 0x33333333, 15 * PAGE / 4);
    CHECK(at[16 * PAGE + 512] == 0x33 && at[16 * PAGE + 511] == 1);
    CHECK(at[31 * PAGE + 511] == 0x33 && at[31 * PAGE + 512] == 1);

    /* a range inside one page */
    at = map_pages(64);
    pin(at + 16 * PAGE + 512, 64);
    share(card, at, 64 * PAGE, 63 * PAGE);
    gpu_writes(at + 16 * PAGE + 512, 0x55555555, 64 / 4);
    CHECK(at[16 * PAGE + 512] == 0x55 && at[16 * PAGE + 575] == 0x55);
    CHECK(at[16 * PAGE + 511] == 1 && at[16 * PAGE + 576] == 1);

    /* registered, then pinned: the card sees the GPU's writes */
    at = map_pages(64);
    share(card, at, 64 * PAGE, 64 * PAGE);
    pin(at, 64 * PAGE);
    gpu_writes(at, 0x44444444, 64 * PAGE / 4);
    CHECK(at[5 * PAGE] == 0x44);
    CHECK(method(card, PEEK, (uintptr_t)at + 5 * PAGE, 0, 0) == 0x44);
    share(card, at, 64 * PAGE, 64 * PAGE);
}
