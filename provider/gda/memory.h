/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory as a kind of device sees it. All return 0 or an errno value, and dingo_gda_fail() has said why. */
#ifndef DINGO_GDA_MEMORY_H
#define DINGO_GDA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* The calls for one kind of device. */
struct dingo_gda_memory {
	const char *name;
	int (*open)(int ordinal);
	/* Shows memory of this process, whole pages, to the device. */
	int (*show)(void *at, size_t bytes, bool read_only);
	void (*hide)(void *at);
	/* Finds the device's address of memory that it was shown. */
	int (*address)(void *at, void **device);
	/* Memory of the device's own. */
	int (*alloc)(size_t bytes, void **device);
	void (*free)(void *device);
	int (*put)(void *device, const void *from, size_t bytes);
	int (*get)(void *to, const void *device, size_t bytes);
};

extern const struct dingo_gda_memory dingo_gda_host_memory;
extern const struct dingo_gda_memory dingo_gda_cuda_memory;
extern const struct dingo_gda_memory dingo_gda_hip_memory;

/* shown.c: pages are shown once, however many QPs use them: doorbells of many are in one page. */
int dingo_gda_show(const struct dingo_gda_memory *memory, void *at, size_t bytes, bool read_only, void **device);
void dingo_gda_hide(const struct dingo_gda_memory *memory, void *at);

/* error.c: remembers a line for dingo_gda_error(), and returns `error`. */
int dingo_gda_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
