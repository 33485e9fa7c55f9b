// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Import, ibv_import_device(3): queries by which a second process uses a
 * context and its protection domains through a copy of the descriptor.
 */
#include "dingo_ib.h"

#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME dingo
#include <rdma/uverbs_named_ioctl.h>

/**
 * dingo_query_ucontext() - describe an existing context
 * @ibuc: the context
 * @attrs: DINGO_ATTR_QUERY_CONTEXT_RESP, which may be missing
 *
 * Return: 0 or -EFAULT.
 */
int dingo_query_ucontext(struct ib_ucontext *ibuc,
			 struct uverbs_attr_bundle *attrs)
{
	struct dingo_alloc_ucontext_resp resp;

	if (!uverbs_attr_is_valid(attrs, DINGO_ATTR_QUERY_CONTEXT_RESP))
		return 0;
	dingo_ucontext_describe(to_ducontext(ibuc), &resp);
	return uverbs_copy_to_struct_or_zero(attrs,
					     DINGO_ATTR_QUERY_CONTEXT_RESP,
					     &resp, sizeof(resp));
}

static int
UVERBS_HANDLER(DINGO_METHOD_PD_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_pd *ibpd =
		uverbs_attr_get_obj(attrs, DINGO_ATTR_PD_QUERY_HANDLE);
	u32 pdn = to_dpd(ibpd)->pdn;

	return uverbs_copy_to(attrs, DINGO_ATTR_PD_QUERY_RESP_PDN, &pdn,
			      sizeof(pdn));
}

DECLARE_UVERBS_NAMED_METHOD(DINGO_METHOD_PD_QUERY,
			    UVERBS_ATTR_IDR(DINGO_ATTR_PD_QUERY_HANDLE,
					    UVERBS_OBJECT_PD,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(DINGO_ATTR_PD_QUERY_RESP_PDN,
						UVERBS_ATTR_TYPE(u32),
						UA_MANDATORY));

ADD_UVERBS_METHODS(dingo_pd_methods, UVERBS_OBJECT_PD,
		   &UVERBS_METHOD(DINGO_METHOD_PD_QUERY));

/* An older provider may have room for a shorter response. */
#define DINGO_CONTEXT_ANSWER \
	UVERBS_ATTR_STRUCT(struct dingo_alloc_ucontext_resp, caps)

ADD_UVERBS_ATTRIBUTES_SIMPLE(dingo_query_context_attrs, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(DINGO_ATTR_QUERY_CONTEXT_RESP,
						 DINGO_CONTEXT_ANSWER,
						 UA_OPTIONAL));

const struct uapi_definition dingo_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &dingo_pd_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE,
				&dingo_query_context_attrs),
	UAPI_DEF_CHAIN(dingo_compute_defs),
	UAPI_DEF_CHAIN(dingo_dm_defs),
	{},
};
