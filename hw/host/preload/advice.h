/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DINGO_PRELOAD_ADVICE_H
#define DINGO_PRELOAD_ADVICE_H

#include <stdbool.h>

/* madvise() has been used for something that a new mapping would not have (MADV_DONTFORK, ...). */
bool dingo_advice_flags_used(void);

#endif
