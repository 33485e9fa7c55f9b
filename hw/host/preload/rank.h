/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DINGO_PRELOAD_RANK_H
#define DINGO_PRELOAD_RANK_H

#include <limits.h>

/*
 * `dingo run --cluster`: the view of this process, which is the card of its rank on this machine;
 * NULL without a cluster or a rank. `buffer` may hold what is returned.
 */
const char* dingo_view_of_rank(char buffer[PATH_MAX]);

#endif
