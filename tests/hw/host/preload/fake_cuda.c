/* SPDX-License-Identifier: BSD-2-Clause */
/* A fake libcuda.so.1 that knows one pinned range. With FAKE_CUDA_LOADS, a descriptor, loading it
 * writes a byte there and waits for the range: its start and its bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t pinned_start, pinned_end;
static int ranges_known = 1;
static long calls;

void fake_pin(uint64_t start, uint64_t bytes, int ranges);
void fake_pin(uint64_t start, uint64_t bytes, int ranges) {
    pinned_start = start;
    pinned_end = start + bytes;
    ranges_known = ranges;
}

long fake_calls(void);
long fake_calls(void) {
    return calls;
}

__attribute__((constructor)) static void load(void) {
    const char* text = getenv("FAKE_CUDA_LOADS");
    uint64_t range[2];

    if (!text) {
        return;
    }
    if (write(atoi(text), "", 1) != 1 || read(atoi(text), range, sizeof(range)) != sizeof(range)) {
        abort();
    }
    fake_pin(range[0], range[1], 1);
}

/* As the driver, returns CUDA_ERROR_INVALID_VALUE for an unknown pointer. */
int cuPointerGetAttribute(void* data, int attribute, uint64_t pointer);
int cuPointerGetAttribute(void* data, int attribute, uint64_t pointer) {
    if (attribute != 2 || pointer < pinned_start || pointer >= pinned_end) {
        return 1;
    }
    *(uint32_t*)data = 1; /* CU_MEMORYTYPE_HOST */
    return 0;
}

int cuPointerGetAttributes(unsigned count, int* attributes, void** data, uint64_t pointer);
int cuPointerGetAttributes(unsigned count, int* attributes, void** data, uint64_t pointer) {
    calls++;
    int known = pointer >= pinned_start && pointer < pinned_end;

    for (unsigned i = 0; i < count; i++) {
        switch (attributes[i]) {
            case 2:
                *(uint32_t*)data[i] = known ? 1 : 0;
                break;
            case 11:
            case 12:
                if (!ranges_known) {
                    return 1;
                }
                *(uint64_t*)data[i] = !known                ? 0
                                      : attributes[i] == 11 ? pinned_start
                                                            : pinned_end - pinned_start;
                break;
            default:
                return 1;
        }
    }
    return 0;
}
