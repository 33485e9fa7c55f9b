/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/dmabuf_exporter: DMA buffers that move on demand, to test importers.
 */
#ifndef DMABUF_EXPORTER_H
#define DMABUF_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Makes a buffer of @size bytes (rounded up to pages, all 0). */
struct dmabuf_exporter_create {
	__u64 size;
	__s32 fd; /* result: the buffer; mmap() works on it */
	__u32 reserved; /* 0 */
};

/*
 * Moves the buffer of @fd to other pages, with its contents. Fails with EBUSY
 * if an importer has pinned it.
 */
struct dmabuf_exporter_move {
	__s32 fd;
	__u32 reserved; /* 0 */
	__u64 moves; /* result: number of moves since its creation */
	__u64 mapped; /* result: importers that have it mapped now */
};

#define DMABUF_EXPORTER_CREATE _IOWR('D', 1, struct dmabuf_exporter_create)
#define DMABUF_EXPORTER_MOVE _IOWR('D', 2, struct dmabuf_exporter_move)

#endif
