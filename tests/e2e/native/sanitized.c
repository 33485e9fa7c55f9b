/* SPDX-License-Identifier: BSD-2-Clause */
/* A developer's program for sanitizer runs: opens the first device, registers memory, closes. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const size_t bytes = 100000;
    struct ibv_device** list = ibv_get_device_list(NULL);
    struct ibv_context* context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    struct ibv_pd* pd = context ? ibv_alloc_pd(context) : NULL;
    char* memory = malloc(bytes);
    struct ibv_mr* mr = pd ? ibv_reg_mr(pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE) : NULL;

    if (!mr) {
        perror("sanitized");
        return 1;
    }
    if (ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_close_device(context)) {
        return 1;
    }
    ibv_free_device_list(list);
    free(memory);
    puts("registered");
    return 0;
}
