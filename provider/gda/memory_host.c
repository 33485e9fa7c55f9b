// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory access if the device is this process: its threads post and poll. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static int host_open(int ordinal)
{
	return ordinal ? dingo_gda_fail(ENODEV, "the host is one device, number 0") : 0;
}

static int host_show(void *at, size_t bytes, bool read_only)
{
	(void)at;
	(void)bytes;
	(void)read_only;
	return 0;
}

static void host_hide(void *at)
{
	(void)at;
}

static int host_address(void *at, void **device)
{
	*device = at;
	return 0;
}

static int host_alloc(size_t bytes, void **device)
{
	*device = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	return *device ? 0 : dingo_gda_fail(ENOMEM, "no memory");
}

static int host_copy(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return 0;
}

const struct dingo_gda_memory dingo_gda_host_memory = {
	.name = "host",
	.open = host_open,
	.show = host_show,
	.hide = host_hide,
	.address = host_address,
	.alloc = host_alloc,
	.free = free,
	.put = host_copy,
	.get = host_copy,
};
