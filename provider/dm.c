// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Device memory, ibv_alloc_dm(3). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "abi.h"
#include "dingo.h"
#include "dingodv.h"

/* Accesses to the card's window must be whole 32-bit words. */
#define DINGO_DM_ALIGNMENT 4

struct dingo_dm {
	struct verbs_dm vdm;
	uint8_t *map;
	uint64_t offset; /* mmap() offset */
	size_t map_bytes;
	size_t length;
};

static struct dingo_dm *to_dingo_dm(struct ibv_dm *dm)
{
	return container_of(dm, struct dingo_dm, vdm.dm);
}

/* Returns 0 or an errno value. The memory vanishes with the card or its reset; an access between
 * that check and the copy may still raise SIGBUS.
 */
static int check_access(const struct dingo_dm *dm, uint64_t offset,
			size_t length)
{
	struct dingo_context *ctx = to_dingo_context(dm->vdm.dm.context);

	if (atomic_load_explicit(ctx->status, memory_order_relaxed) &
	    DINGO_STATUS_GONE)
		return EIO;
	if ((offset | length) % DINGO_DM_ALIGNMENT)
		return EINVAL;
	return offset > dm->length || length > dm->length - offset ? EFAULT : 0;
}

static int memcpy_to_dm(struct ibv_dm *ibdm, uint64_t offset, const void *from,
			size_t length)
{
	struct dingo_dm *dm = to_dingo_dm(ibdm);
	int err = check_access(dm, offset, length);

	if (err)
		return err;
	memcpy(dm->map + offset, from, length);
	mmio_flush_writes(); /* behind PCI it is write-combining */
	return 0;
}

static int memcpy_from_dm(void *to, struct ibv_dm *ibdm, uint64_t offset,
			  size_t length)
{
	struct dingo_dm *dm = to_dingo_dm(ibdm);
	int err = check_access(dm, offset, length);

	if (err)
		return err;
	udma_from_device_barrier();
	memcpy(to, dm->map + offset, length);
	return 0;
}

static int map_dm(struct ibv_context *context, struct dingo_dm *dm,
		  const struct dingo_dm_resp *resp)
{
	int err;

	dm->map = mmap(NULL, resp->map_bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED, context->cmd_fd, resp->dm_mmap);
	if (dm->map == MAP_FAILED)
		return errno;
	err = ibv_dontfork_range(dm->map, resp->map_bytes);
	if (err) {
		munmap(dm->map, resp->map_bytes);
		return err;
	}
	dm->offset = resp->dm_mmap;
	dm->map_bytes = resp->map_bytes;
	dm->length = resp->length;
	dm->vdm.dm.memcpy_to_dm = memcpy_to_dm;
	dm->vdm.dm.memcpy_from_dm = memcpy_from_dm;
	return 0;
}

struct ibv_dm *dingo_alloc_dm(struct ibv_context *context,
			      struct ibv_alloc_dm_attr *attr)
{
	DECLARE_COMMAND_BUFFER(driver, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
			       1);
	struct dingo_dm_resp resp = {};
	struct dingo_dm *dm;
	int err;

	if (!check_comp_mask(attr->comp_mask, 0)) {
		errno = EINVAL;
		return NULL;
	}
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	fill_attr_out_ptr(driver, DINGO_ATTR_ALLOC_DM_RESP, &resp);
	err = ibv_cmd_alloc_dm(context, attr, &dm->vdm, driver);
	if (err)
		goto err_free;
	err = map_dm(context, dm, &resp);
	if (err)
		goto err_dm;
	return &dm->vdm.dm;

err_dm:
	ibv_cmd_free_dm(&dm->vdm);
err_free:
	free(dm);
	errno = err;
	return NULL;
}

/* Releases the provider's part of the object only. */
void dingo_unimport_dm(struct ibv_dm *ibdm)
{
	struct dingo_dm *dm = to_dingo_dm(ibdm);

	ibv_dofork_range(dm->map, dm->map_bytes);
	munmap(dm->map, dm->map_bytes);
	free(dm);
}

int dingo_free_dm(struct ibv_dm *ibdm)
{
	int err = ibv_cmd_free_dm(&to_dingo_dm(ibdm)->vdm);

	if (!err)
		dingo_unimport_dm(ibdm);
	return err;
}

struct ibv_dm *dingo_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, DINGO_METHOD_DM_QUERY, 2);
	struct dingo_dm_resp resp = {};
	struct dingo_dm *dm = calloc(1, sizeof(*dm));
	int err;

	if (!dm)
		return NULL;
	fill_attr_in_obj(cmd, DINGO_ATTR_DM_QUERY_HANDLE, dm_handle);
	fill_attr_out_ptr(cmd, DINGO_ATTR_DM_QUERY_RESP, &resp);
	err = execute_ioctl(context, cmd);
	if (!err)
		err = map_dm(context, dm, &resp);
	if (err) {
		free(dm);
		errno = err;
		return NULL;
	}
	dm->vdm.handle = dm_handle;
	dm->vdm.dm.handle = dm_handle;
	dm->vdm.dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->vdm.dm.context = context;
	return &dm->vdm.dm;
}

struct ibv_mr *dingo_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
			       uint64_t offset, size_t length,
			       unsigned int access)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));
	int err;

	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_dm_mr(pd, &to_dingo_dm(dm)->vdm, offset, length,
				access, vmr, NULL);
	if (err) {
		free(vmr);
		errno = err;
		return NULL;
	}
	return &vmr->ibv_mr;
}

static bool is_dingo_dm(const struct ibv_dm *dm)
{
	return dm->memcpy_to_dm == memcpy_to_dm;
}

void *dingodv_dm_address(struct ibv_dm *dm)
{
	return is_dingo_dm(dm) ? to_dingo_dm(dm)->map : NULL;
}

/* Object and method ids of Linux 7.2 and later; rdma-core's headers may lack them. */
#define DINGO_OBJECT_DMABUF 18
#define DINGO_METHOD_DMABUF_ALLOC 0

enum {
	DINGO_ALLOC_DMABUF_HANDLE,
	DINGO_ALLOC_DMABUF_PGOFF,
};

int dingodv_export_dm(struct ibv_dm *ibdm)
{
	DECLARE_COMMAND_BUFFER(cmd, DINGO_OBJECT_DMABUF,
			       DINGO_METHOD_DMABUF_ALLOC, 2);
	struct ib_uverbs_attr *fd;
	uint64_t pgoff;
	int err;

	if (!is_dingo_dm(ibdm)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	pgoff = to_dingo_dm(ibdm)->offset / sysconf(_SC_PAGESIZE);
	fd = fill_attr_out_fd(cmd, DINGO_ALLOC_DMABUF_HANDLE, 0);
	fill_attr_in_uint64(cmd, DINGO_ALLOC_DMABUF_PGOFF, pgoff);
	err = execute_ioctl(ibdm->context, cmd);
	if (!err)
		return read_attr_fd(DINGO_ALLOC_DMABUF_HANDLE, fd);
	/* errors of kernels that do not know the object or the method */
	errno = err == EPROTONOSUPPORT || err == ENOTSUP ? EOPNOTSUPP : err;
	return -1;
}
