/* SPDX-License-Identifier: BSD-2-Clause */
#include "rank.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Variables with the rank that launchers set; local ranks are preferred to global ones. */
static const char* const rank_variables[] = {
    "OMPI_COMM_WORLD_LOCAL_RANK", /* Open MPI */
    "MPI_LOCALRANKID",            /* Intel MPI, MPICH */
    "MV2_COMM_WORLD_LOCAL_RANK",  /* MVAPICH2 */
    "SLURM_LOCALID",              /* srun */
    "LOCAL_RANK",                 /* torchrun */
    "PMIX_RANK",
    "PMI_RANK",
};

/* Parses a decimal number below one million. */
static bool read_number(const char* text, unsigned* value) {
    unsigned n = 0;

    if (text == NULL || *text == '\0' || strlen(text) > 6) {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') {
            return false;
        }
        n = n * 10 + (unsigned)(*text - '0');
    }
    *value = n;
    return true;
}

const char* dingo_view_of_rank(char buffer[PATH_MAX]) {
    const char* prefix = getenv("DINGO_CLUSTER");
    unsigned size;
    unsigned rank;
    size_t length;
    char digits[8];
    size_t n = sizeof(digits);

    if (prefix == NULL || !read_number(getenv("DINGO_CLUSTER_SIZE"), &size) || size == 0) {
        return NULL;
    }
    length = strlen(prefix);
    if (length + sizeof(digits) >= PATH_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(rank_variables) / sizeof(*rank_variables); i++) {
        if (!read_number(getenv(rank_variables[i]), &rank)) {
            continue;
        }
        rank %= size;
        digits[--n] = '\0';
        do {
            digits[--n] = (char)('0' + rank % 10);
            rank /= 10;
        } while (rank != 0);
        memcpy(buffer, prefix, length);
        memcpy(buffer + length, digits + n, sizeof(digits) - n);
        return buffer;
    }
    return NULL;
}
