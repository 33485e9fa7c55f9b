/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DINGO_PRELOAD_ADVICE_H
#define DINGO_PRELOAD_ADVICE_H

#include <stdbool.h>

/* Returns true if madvise() has set a flag that a new mapping would not inherit (MADV_DONTFORK,
 * ...). */
bool dingo_advice_flags_used(void);

#endif
