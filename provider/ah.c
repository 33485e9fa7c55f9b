// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Address handles: the card keeps none, they travel in each UD WQE. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "dingo.h"

struct ibv_ah *dingo_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct udingo_create_ah_resp resp = {};
	struct dingo_ah *ah;
	int err;

	/* RoCE has no path without a GRH */
	if (!attr->is_global) {
		errno = EINVAL;
		return NULL;
	}
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	err = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.ibv_resp,
				sizeof(resp));
	if (err) {
		free(ah);
		errno = err;
		return NULL;
	}
	memcpy(ah->av.dgid, attr->grh.dgid.raw, sizeof(ah->av.dgid));
	memcpy(ah->av.dmac, resp.dmac, sizeof(ah->av.dmac));
	ah->av.sgid_index = htole16(attr->grh.sgid_index);
	ah->av.flow_label = htole32(attr->grh.flow_label & 0xfffff);
	ah->av.udp_sport = htole16(resp.udp_sport);
	ah->av.hop_limit = attr->grh.hop_limit;
	ah->av.tclass = attr->grh.traffic_class;
	ah->av.sl = attr->sl;
	return &ah->ah;
}

int dingo_destroy_ah(struct ibv_ah *ibah)
{
	int err = ibv_cmd_destroy_ah(ibah);

	if (err)
		return err;
	free(to_dingo_ah(ibah));
	return 0;
}
