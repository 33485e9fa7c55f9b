/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DINGO_PRELOAD_RANK_H
#define DINGO_PRELOAD_RANK_H

#include <limits.h>

/*
 * `dingo run --cluster`: returns the view of this process, which has the card of its rank on this
 * machine, or NULL without a cluster or rank. The result may point to `buffer`.
 */
const char* dingo_view_of_rank(char buffer[PATH_MAX]);

#endif
