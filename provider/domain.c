// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Protection domains, thread domains and parent domains, and memory from a parent domain's
 * allocators.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "abi.h"
#include "dingo.h"

struct ibv_pd *dingo_alloc_pd(struct ibv_context *context)
{
	struct udingo_alloc_pd_resp resp = {};
	struct ibv_alloc_pd req = {};
	struct dingo_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return NULL;
	err = ibv_cmd_alloc_pd(context, &pd->pd, &req, sizeof(req),
			       &resp.ibv_resp, sizeof(resp));
	if (err) {
		free(pd);
		errno = err;
		return NULL;
	}
	atomic_init(&pd->refcount, 1);
	pd->pdn = resp.pdn;
	return &pd->pd;
}

/* Queries the kernel, so that importing a handle that does not exist fails. */
static int query_pd(struct ibv_context *context, uint32_t handle, uint32_t *pdn)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_PD, DINGO_METHOD_PD_QUERY, 2);

	fill_attr_in_obj(cmd, DINGO_ATTR_PD_QUERY_HANDLE, handle);
	fill_attr_out_ptr(cmd, DINGO_ATTR_PD_QUERY_RESP_PDN, pdn);
	return execute_ioctl(context, cmd);
}

struct ibv_pd *dingo_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	struct dingo_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return NULL;
	err = query_pd(context, pd_handle, &pd->pdn);
	if (err) {
		free(pd);
		errno = err;
		return NULL;
	}
	atomic_init(&pd->refcount, 1);
	pd->pd.context = context;
	pd->pd.handle = pd_handle;
	return &pd->pd;
}

/* A PD that is unimported remains in memory as long as parent domains point to it. */
static void put_pd(struct dingo_pd *pd)
{
	if (atomic_fetch_sub(&pd->refcount, 1) == 1)
		free(pd);
}

void dingo_unimport_pd(struct ibv_pd *ibpd)
{
	put_pd(to_dingo_pd(ibpd));
}

static void put_td(struct dingo_td *td)
{
	if (td)
		atomic_fetch_sub(&td->refcount, 1);
}

int dingo_dealloc_pd(struct ibv_pd *ibpd)
{
	struct dingo_pd *pd = to_dingo_pd(ibpd);
	int err;

	if (atomic_load(&pd->refcount) > 1)
		return EBUSY;
	if (pd->parent) {
		put_pd(pd->parent);
		put_td(pd->td);
	} else {
		err = ibv_cmd_dealloc_pd(ibpd);
		if (err)
			return err;
	}
	free(pd);
	return 0;
}

struct ibv_td *dingo_alloc_td(struct ibv_context *context,
			      struct ibv_td_init_attr *attr)
{
	struct dingo_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = context;
	atomic_init(&td->refcount, 1);
	return &td->td;
}

int dingo_dealloc_td(struct ibv_td *ibtd)
{
	struct dingo_td *td = to_dingo_td(ibtd);

	if (atomic_load(&td->refcount) > 1)
		return EBUSY;
	free(td);
	return 0;
}

struct ibv_pd *
dingo_alloc_parent_domain(struct ibv_context *context,
			  struct ibv_parent_domain_init_attr *attr)
{
	struct dingo_pd *domain;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	if (!check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS &&
	    (!attr->alloc || !attr->free)) {
		errno = EINVAL;
		return NULL;
	}
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return NULL;
	domain->parent = to_dingo_pd(attr->pd);
	if (domain->parent->parent)
		domain->parent = domain->parent->parent;
	domain->pdn = domain->parent->pdn;
	atomic_fetch_add(&domain->parent->refcount, 1);
	if (attr->td) {
		domain->td = to_dingo_td(attr->td);
		atomic_fetch_add(&domain->td->refcount, 1);
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		domain->alloc = attr->alloc;
		domain->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		domain->pd_context = attr->pd_context;
	atomic_init(&domain->refcount, 1);
	ibv_initialize_parent_domain(&domain->pd, &domain->parent->pd);
	return &domain->pd;
}

/* One cache line, so that two objects' bookkeeping shares none. */
#define DINGO_BUF_ALIGNMENT 64

int dingo_buf_alloc(struct dingo_buf *buf, struct dingo_pd *domain, size_t size,
		    uint64_t resource_type)
{
	void *at = IBV_ALLOCATOR_USE_DEFAULT;

	size = align(size, DINGO_BUF_ALIGNMENT);
	if (domain && domain->alloc)
		at = domain->alloc(&domain->pd, domain->pd_context, size,
				   DINGO_BUF_ALIGNMENT, resource_type);
	buf->owner = at == IBV_ALLOCATOR_USE_DEFAULT ? NULL : domain;
	if (!buf->owner) {
		at = NULL;
		if (posix_memalign(&at, DINGO_BUF_ALIGNMENT, size))
			at = NULL;
	}
	buf->at = at;
	if (!at)
		return ENOMEM;
	buf->resource_type = resource_type;
	memset(at, 0, size);
	return 0;
}

void dingo_buf_free(struct dingo_buf *buf)
{
	if (!buf->at)
		return;
	if (buf->owner)
		buf->owner->free(&buf->owner->pd, buf->owner->pd_context,
				 buf->at, buf->resource_type);
	else
		free(buf->at);
	buf->at = NULL;
}

struct dingo_pd *dingo_hold_parent_domain(struct ibv_pd *ibpd)
{
	struct dingo_pd *pd = ibpd ? to_dingo_pd(ibpd) : NULL;

	if (!pd || !pd->parent)
		return NULL;
	atomic_fetch_add(&pd->refcount, 1);
	return pd;
}

void dingo_put_parent_domain(struct dingo_pd *domain)
{
	if (domain)
		atomic_fetch_sub(&domain->refcount, 1);
}

bool dingo_single_threaded(const struct dingo_pd *domain)
{
	return domain && domain->td;
}
