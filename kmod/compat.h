/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between the kernels that dingo.ko is built for (6.12 and 7.2);
 * the only file that asks for the kernel's version.
 */
#ifndef DINGO_COMPAT_H
#define DINGO_COMPAT_H

#include <linux/version.h>

#endif
