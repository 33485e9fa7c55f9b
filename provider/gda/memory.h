/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Access to memory by each kind of device. Functions return 0, or an errno value after recording
 * the reason by dingo_gda_fail().
 */
#ifndef DINGO_GDA_MEMORY_H
#define DINGO_GDA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* The calls for one kind of device. */
struct dingo_gda_memory {
	const char *name;
	int (*open)(int ordinal);
	/* Maps memory of this process, whole pages, for the device; hide() undoes it. */
	int (*show)(void *at, size_t bytes, bool read_only);
	void (*hide)(void *at);
	/* Stores the device address of memory mapped by show(). */
	int (*address)(void *at, void **device);
	/* Allocates, frees, writes and reads device memory. */
	int (*alloc)(size_t bytes, void **device);
	void (*free)(void *device);
	int (*put)(void *device, const void *from, size_t bytes);
	int (*get)(void *to, const void *device, size_t bytes);
};

extern const struct dingo_gda_memory dingo_gda_host_memory;
extern const struct dingo_gda_memory dingo_gda_cuda_memory;
extern const struct dingo_gda_memory dingo_gda_hip_memory;

/* shown.c: reference counts around show() and hide(): doorbells of many QPs lie in one page, which
 * can be mapped only once.
 */
int dingo_gda_show(const struct dingo_gda_memory *memory, void *at, size_t bytes, bool read_only, void **device);
void dingo_gda_hide(const struct dingo_gda_memory *memory, void *at);
/* Hides `num` addresses and calls destroy(object), which unmaps their memory: a GPU's driver must
 * not have registered memory that is gone. Shows them again if destroy() fails. Other threads,
 * which may get the same addresses for new memory, wait meanwhile. Returns destroy()'s result.
 * destroy() must neither show nor hide memory: it would wait for itself.
 */
int dingo_gda_hide_destroyed(const struct dingo_gda_memory *memory, void *const *at, unsigned int num,
			     int (*destroy)(void *object), void *object);

/* error.c: remembers a line for dingo_gda_error(), and returns `error`. */
int dingo_gda_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
