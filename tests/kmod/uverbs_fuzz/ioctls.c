// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzzes the methods of the uverbs ioctl and their attributes, including the driver's.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "fuzz.h"

enum kind {
	NEW,	/* an object that the method makes, or a descriptor of one */
	USE,	/* an object, or a descriptor of one */
	IN,	/* bytes of the caller's */
	OUT,	/* room for an answer */
	DRIVER_IN,
	DRIVER_OUT,
};

/* Contents of an IN attribute. */
enum content { ZERO, SMALL, ONE, TYPE, ACCESS, BYTES, CAP, ANY, BUFFER };

struct attribute {
	uint16_t id;
	uint8_t kind;
	uint8_t what; /* object, enum content, enum request, enum answer */
	uint16_t bytes;
	bool optional;
};

struct method {
	const char *name;
	uint16_t object;
	uint16_t number;
	uint8_t destroys;
	struct attribute attributes[16];
};

#define A_NEW(id, object) { id, NEW, object, 0, false }
#define A_USE(id, object) { id, USE, object, 0, false }
#define A_MAY_USE(id, object) { id, USE, object, 0, true }
#define A_IN(id, bytes, content) { id, IN, content, bytes, false }
#define A_MAY_IN(id, bytes, content) { id, IN, content, bytes, true }
#define A_OUT(id, bytes) { id, OUT, 0, bytes, false }
#define A_DRIVER_IN(request) { UVERBS_ATTR_UHW_IN, DRIVER_IN, request, 0, false }
#define A_DRIVER_OUT(answer) { UVERBS_ATTR_UHW_OUT, DRIVER_OUT, answer, 0, false }
#define A_REQUEST(id, request) { id, DRIVER_IN, request, 0, false }
#define A_ANSWER(id, answer) { id, DRIVER_OUT, answer, 0, false }
#define M(object, name, ...)							\
	{ #object "." #name, UVERBS_OBJECT_##object, UVERBS_METHOD_##name, NO_OBJECT, { __VA_ARGS__ } }
#define M_OWN(object, name, ...)						\
	{ #object "." #name, UVERBS_OBJECT_##object, DINGO_METHOD_##name, NO_OBJECT, { __VA_ARGS__ } }
#define M_END(object, name, ...)						\
	{ #object "." #name, UVERBS_OBJECT_##object, UVERBS_METHOD_##name,	\
	  UVERBS_OBJECT_##object, { __VA_ARGS__ } }

static const struct method methods[] = {
	M(DEVICE, INFO_HANDLES, A_IN(UVERBS_ATTR_INFO_OBJECT_ID, 8, TYPE),
	  A_OUT(UVERBS_ATTR_INFO_TOTAL_HANDLES, 4), A_OUT(UVERBS_ATTR_INFO_HANDLES_LIST, 256)),
	M(DEVICE, QUERY_PORT, A_IN(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1, ONE),
	  A_OUT(UVERBS_ATTR_QUERY_PORT_RESP, sizeof(struct ib_uverbs_query_port_resp_ex))),
	M(DEVICE, GET_CONTEXT, A_OUT(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4),
	  A_OUT(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8), A_DRIVER_IN(REQUEST_CONTEXT),
	  A_DRIVER_OUT(ANSWER_CONTEXT)),
	M(DEVICE, QUERY_CONTEXT, A_OUT(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 4),
	  A_OUT(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, 8),
	  A_ANSWER(DINGO_ATTR_QUERY_CONTEXT_RESP, ANSWER_CONTEXT)),
	M(DEVICE, QUERY_GID_TABLE, A_IN(0, 8, BYTES), A_IN(1, 4, ZERO), A_OUT(2, 4096), A_OUT(3, 8)),
	M(DEVICE, QUERY_GID_ENTRY, A_IN(0, 4, ONE), A_IN(1, 4, SMALL), A_IN(2, 4, ZERO), A_OUT(3, 32)),
	M_END(PD, PD_DESTROY, A_USE(UVERBS_ATTR_DESTROY_PD_HANDLE, UVERBS_OBJECT_PD)),
	M_OWN(PD, PD_QUERY, A_USE(DINGO_ATTR_PD_QUERY_HANDLE, UVERBS_OBJECT_PD),
	      A_OUT(DINGO_ATTR_PD_QUERY_RESP_PDN, 4)),
	M(ASYNC_EVENT, ASYNC_EVENT_ALLOC, A_NEW(0, UVERBS_OBJECT_ASYNC_EVENT)),
	M(CQ, CQ_CREATE, A_NEW(UVERBS_ATTR_CREATE_CQ_HANDLE, UVERBS_OBJECT_CQ),
	  A_IN(UVERBS_ATTR_CREATE_CQ_CQE, 4, SMALL), A_IN(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, ANY),
	  A_MAY_USE(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, UVERBS_OBJECT_COMP_CHANNEL),
	  A_IN(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, ZERO),
	  A_MAY_IN(UVERBS_ATTR_CREATE_CQ_FLAGS, 4, ZERO), A_OUT(UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4),
	  A_MAY_USE(UVERBS_ATTR_CREATE_CQ_EVENT_FD, UVERBS_OBJECT_ASYNC_EVENT),
	  A_DRIVER_IN(REQUEST_CQ), A_DRIVER_OUT(ANSWER_CQ)),
	M_END(CQ, CQ_DESTROY, A_USE(UVERBS_ATTR_DESTROY_CQ_HANDLE, UVERBS_OBJECT_CQ),
	      A_OUT(UVERBS_ATTR_DESTROY_CQ_RESP, sizeof(struct ib_uverbs_destroy_cq_resp))),
	M(QP, QP_CREATE, A_NEW(UVERBS_ATTR_CREATE_QP_HANDLE, UVERBS_OBJECT_QP),
	  A_USE(UVERBS_ATTR_CREATE_QP_PD_HANDLE, UVERBS_OBJECT_PD),
	  A_MAY_USE(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, UVERBS_OBJECT_SRQ),
	  A_USE(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, UVERBS_OBJECT_CQ),
	  A_USE(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, UVERBS_OBJECT_CQ),
	  A_IN(UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, ANY),
	  A_IN(UVERBS_ATTR_CREATE_QP_CAP, sizeof(struct ib_uverbs_qp_cap), CAP),
	  A_IN(UVERBS_ATTR_CREATE_QP_TYPE, 8, TYPE),
	  A_MAY_IN(UVERBS_ATTR_CREATE_QP_FLAGS, 4, ZERO),
	  A_MAY_USE(UVERBS_ATTR_CREATE_QP_EVENT_FD, UVERBS_OBJECT_ASYNC_EVENT),
	  A_OUT(UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(struct ib_uverbs_qp_cap)),
	  A_OUT(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4), A_DRIVER_IN(REQUEST_QP),
	  A_DRIVER_OUT(ANSWER_QP)),
	M_END(QP, QP_DESTROY, A_USE(UVERBS_ATTR_DESTROY_QP_HANDLE, UVERBS_OBJECT_QP),
	      A_OUT(UVERBS_ATTR_DESTROY_QP_RESP, sizeof(struct ib_uverbs_destroy_qp_resp))),
	M_OWN(QP, QP_SET_COMPUTE, A_USE(DINGO_ATTR_QP_SET_COMPUTE_HANDLE, UVERBS_OBJECT_QP),
	      A_REQUEST(DINGO_ATTR_QP_SET_COMPUTE_REQ, REQUEST_COMPUTE)),
	M(SRQ, SRQ_CREATE, A_NEW(UVERBS_ATTR_CREATE_SRQ_HANDLE, UVERBS_OBJECT_SRQ),
	  A_USE(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, UVERBS_OBJECT_PD),
	  A_IN(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 8, ANY),
	  A_IN(UVERBS_ATTR_CREATE_SRQ_MAX_WR, 4, SMALL),
	  A_IN(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 4, ONE),
	  A_IN(UVERBS_ATTR_CREATE_SRQ_LIMIT, 4, ZERO), A_IN(UVERBS_ATTR_CREATE_SRQ_TYPE, 8, ZERO),
	  A_MAY_USE(UVERBS_ATTR_CREATE_SRQ_EVENT_FD, UVERBS_OBJECT_ASYNC_EVENT),
	  A_OUT(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4),
	  A_OUT(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4),
	  A_OUT(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, 4), A_DRIVER_IN(REQUEST_SRQ),
	  A_DRIVER_OUT(ANSWER_SRQ)),
	M_END(SRQ, SRQ_DESTROY, A_USE(UVERBS_ATTR_DESTROY_SRQ_HANDLE, UVERBS_OBJECT_SRQ),
	      A_OUT(UVERBS_ATTR_DESTROY_SRQ_RESP, sizeof(struct ib_uverbs_destroy_srq_resp))),
	M(WQ, WQ_CREATE, A_NEW(UVERBS_ATTR_CREATE_WQ_HANDLE, UVERBS_OBJECT_WQ),
	  A_USE(UVERBS_ATTR_CREATE_WQ_PD_HANDLE, UVERBS_OBJECT_PD),
	  A_USE(UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, UVERBS_OBJECT_CQ),
	  A_IN(UVERBS_ATTR_CREATE_WQ_USER_HANDLE, 8, ANY), A_IN(UVERBS_ATTR_CREATE_WQ_TYPE, 8, ZERO),
	  A_IN(UVERBS_ATTR_CREATE_WQ_MAX_WR, 4, SMALL), A_IN(UVERBS_ATTR_CREATE_WQ_MAX_SGE, 4, ONE)),
	M_END(AH, AH_DESTROY, A_USE(0, UVERBS_OBJECT_AH)),
	M_END(MW, MW_DESTROY, A_USE(0, UVERBS_OBJECT_MW)),
	M_END(XRCD, XRCD_DESTROY, A_USE(0, UVERBS_OBJECT_XRCD)),
	M_END(FLOW, FLOW_DESTROY, A_USE(0, UVERBS_OBJECT_FLOW)),
	M_END(RWQ_IND_TBL, RWQ_IND_TBL_DESTROY, A_USE(0, UVERBS_OBJECT_RWQ_IND_TBL)),
	M(DM, DM_ALLOC, A_NEW(UVERBS_ATTR_ALLOC_DM_HANDLE, UVERBS_OBJECT_DM),
	  A_IN(UVERBS_ATTR_ALLOC_DM_LENGTH, 8, SMALL), A_IN(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, 4, ZERO),
	  A_ANSWER(DINGO_ATTR_ALLOC_DM_RESP, ANSWER_DM)),
	M_END(DM, DM_FREE, A_USE(UVERBS_ATTR_FREE_DM_HANDLE, UVERBS_OBJECT_DM)),
	M_OWN(DM, DM_QUERY, A_USE(DINGO_ATTR_DM_QUERY_HANDLE, UVERBS_OBJECT_DM),
	      A_ANSWER(DINGO_ATTR_DM_QUERY_RESP, ANSWER_DM)),
	M(MR, DM_MR_REG, A_NEW(UVERBS_ATTR_REG_DM_MR_HANDLE, UVERBS_OBJECT_MR),
	  A_IN(UVERBS_ATTR_REG_DM_MR_OFFSET, 8, ZERO), A_IN(UVERBS_ATTR_REG_DM_MR_LENGTH, 8, SMALL),
	  A_USE(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, UVERBS_OBJECT_PD),
	  A_IN(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, 4, ACCESS),
	  A_USE(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, UVERBS_OBJECT_DM),
	  A_OUT(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, 4), A_OUT(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, 4)),
	M_END(MR, MR_DESTROY, A_USE(UVERBS_ATTR_DESTROY_MR_HANDLE, UVERBS_OBJECT_MR)),
	M(MR, ADVISE_MR, A_USE(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, UVERBS_OBJECT_PD),
	  A_IN(UVERBS_ATTR_ADVISE_MR_ADVICE, 8, ZERO), A_IN(UVERBS_ATTR_ADVISE_MR_FLAGS, 4, ZERO),
	  A_IN(UVERBS_ATTR_ADVISE_MR_SGE_LIST, 32, BYTES)),
	M(MR, QUERY_MR, A_USE(UVERBS_ATTR_QUERY_MR_HANDLE, UVERBS_OBJECT_MR),
	  A_OUT(UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4), A_OUT(UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4),
	  A_OUT(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8), A_OUT(UVERBS_ATTR_QUERY_MR_RESP_IOVA, 8)),
	M(MR, REG_DMABUF_MR, A_NEW(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, UVERBS_OBJECT_MR),
	  A_USE(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, UVERBS_OBJECT_PD),
	  A_IN(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8, ZERO),
	  A_IN(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8, SMALL),
	  A_IN(UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8, ZERO),
	  A_IN(UVERBS_ATTR_REG_DMABUF_MR_FD, 4, BUFFER),
	  A_IN(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 4, ACCESS),
	  A_OUT(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4), A_OUT(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4)),
	M(COUNTERS, COUNTERS_CREATE, A_NEW(UVERBS_ATTR_CREATE_COUNTERS_HANDLE, UVERBS_OBJECT_COUNTERS)),
	M_END(COUNTERS, COUNTERS_DESTROY, A_USE(UVERBS_ATTR_DESTROY_COUNTERS_HANDLE, UVERBS_OBJECT_COUNTERS)),
	M(FLOW_ACTION, FLOW_ACTION_ESP_CREATE,
	  A_NEW(UVERBS_ATTR_CREATE_FLOW_ACTION_ESP_HANDLE, UVERBS_OBJECT_FLOW_ACTION),
	  A_IN(UVERBS_ATTR_FLOW_ACTION_ESP_ATTRS, sizeof(struct ib_uverbs_flow_action_esp), ZERO)),
};
#define NUM_METHODS (sizeof(methods) / sizeof(methods[0]))

unsigned int num_ioctls(void)
{
	return NUM_METHODS;
}

const char *ioctl_name(unsigned int n)
{
	return methods[n].name;
}

/* All zero marks the end: it would mean a new DEVICE, which no method makes. */
static bool is_end(const struct attribute *a)
{
	return !a->id && !a->kind && !a->what;
}

static bool is_fd(unsigned int object)
{
	return object == UVERBS_OBJECT_COMP_CHANNEL || object == UVERBS_OBJECT_ASYNC_EVENT;
}

static void fill(struct fuzzer *f, enum content content, void *bytes, size_t size)
{
	struct ib_uverbs_qp_cap cap;
	uint64_t value = 0;
	size_t n;

	switch (content) {
	case ZERO: break;
	case SMALL: value = small_number(f); break;
	case ONE: value = 1; break;
	case TYPE: value = 2 + below(f, 3); break;
	case ACCESS: value = access_flags(f); break;
	case ANY: value = draw(f); break;
	case BUFFER: value = (uint32_t)f->buffer; break;
	case BYTES:
		value = 32;
		for (n = 8; n < size; n++)
			((uint8_t *)bytes)[n] = below(f, 3);
		break;
	case CAP:
		cap = (struct ib_uverbs_qp_cap){ small_number(f), small_number(f), 1 + below(f, 4),
						 1 + below(f, 4), below(f, 200) };
		memcpy(bytes, &cap, sizeof(cap));
		return;
	}
	memcpy(bytes, &value, size < 8 ? size : 8);
}

static void set_bytes(struct fuzzer *f, struct ib_uverbs_attr *attr, const void *bytes, size_t size)
{
	void *copy;

	attr->len = size;
	if (size <= 8) {
		memcpy(&attr->data, bytes, size);
		return;
	}
	copy = room(f, size);
	memcpy(copy, bytes, size);
	attr->data = (uintptr_t)copy;
}

static void set(struct fuzzer *f, struct context *c, const struct attribute *a,
		struct ib_uverbs_attr *attr)
{
	uint8_t bytes[256] = {};

	attr->attr_id = a->id;
	attr->flags = a->optional || a->kind == DRIVER_IN || a->kind == DRIVER_OUT ? 0 : 1;
	switch (a->kind) {
	case NEW:
		break;
	case USE:
		f->with_srq |= a->what == UVERBS_OBJECT_SRQ;
		attr->data = pick(f, c, a->what);
		if (is_fd(a->what))
			attr->data_s64 = (int)attr->data;
		break;
	case IN:
		fill(f, a->what, bytes, a->bytes);
		set_bytes(f, attr, bytes, a->bytes);
		break;
	case DRIVER_IN:
		set_bytes(f, attr, bytes, fill_request(f, a->what, bytes));
		break;
	case OUT:
		attr->len = a->bytes;
		attr->data = (uintptr_t)room(f, a->bytes);
		break;
	case DRIVER_OUT:
		attr->len = answer_bytes(a->what);
		attr->data = (uintptr_t)room(f, attr->len);
		break;
	}
}

static void bend(struct fuzzer *f, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *attr = &hdr->attrs[below(f, hdr->num_attrs)];

	switch (below(f, 16)) {
	case 0: /* left out */
		*attr = hdr->attrs[--hdr->num_attrs];
		break;
	case 1: /* twice */
		hdr->attrs[hdr->num_attrs++] = *attr;
		break;
	case 2: attr->attr_id = below(f, 20); break;
	case 3: attr->attr_id = 1 << UVERBS_ID_NS_SHIFT | below(f, 4); break;
	case 4: attr->len = below(f, 300); break;
	case 5: attr->len = below(f, 2) ? 0 : draw(f) & 0x3fff; break;
	case 6: attr->flags = draw(f) & 3; break;
	case 7: attr->attr_data.reserved = draw(f); break;
	case 8:
	case 9: attr->data = odd_pointer(f); break;
	case 10: attr->data = odd_number(f); break;
	case 11: attr->data ^= attr->len && attr->len <= 8 ? 1ull << below(f, 64) : 0; break;
	case 12: hdr->num_attrs = below(f, 20); break;
	case 13: hdr->object_id = below(f, NUM_OBJECTS + 1); break;
	case 14: hdr->method_id = one_in(f, 2) ? below(f, 8) : 0x1000 + below(f, 3); break;
	default: hdr->reserved2 = draw(f);
	}
}

static void finish(struct context *c, const struct method *m, const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct attribute *a;
	unsigned int n, i;

	for (n = 0; n < hdr->num_attrs; n++) {
		const struct ib_uverbs_attr *attr = &hdr->attrs[n];

		for (i = 0; i < 16 && !is_end(&m->attributes[i]); i++) {
			a = &m->attributes[i];
			if (a->id != attr->attr_id)
				continue;
			if (a->kind == NEW)
				remember(c, a->what, attr->data);
			else if (a->kind == DRIVER_OUT && attr->len == answer_bytes(a->what))
				take_answer(c, a->what, (void *)(uintptr_t)attr->data);
			else if (a->kind == USE && m->destroys == a->what)
				forget(c, a->what, attr->data);
		}
	}
}

void fuzz_ioctl(struct fuzzer *f, struct context *c)
{
	const struct method *m;
	struct ib_uverbs_ioctl_hdr *hdr;
	bool bent = one_in(f, 3);
	int fd = atomic_load(&c->fd);
	unsigned int n;

	if (fd < 0)
		return;
	do
		m = &methods[below(f, NUM_METHODS)];
	while (m->destroys != NO_OBJECT && !one_in(f, 3));
	f->used = 0;
	f->with_srq = false;
	hdr = room(f, sizeof(*hdr) + 24 * sizeof(hdr->attrs[0]));
	hdr->object_id = m->object;
	hdr->method_id = m->number;
	for (n = 0; n < 16; n++) {
		const struct attribute *a = &m->attributes[n];

		if (is_end(a))
			break;
		if (!a->optional || one_in(f, 3))
			set(f, c, a, &hdr->attrs[hdr->num_attrs++]);
	}
	if (bent && hdr->num_attrs)
		for (n = 1 + below(f, 2); n; n--)
			if (hdr->num_attrs && hdr->num_attrs < 20)
				bend(f, hdr);
	hdr->length = sizeof(*hdr) + hdr->num_attrs * sizeof(hdr->attrs[0]);
	if (bent && one_in(f, 16))
		hdr->length = draw(f);
	if (counted(f, FIRST_IOCTL + (m - methods), ioctl(fd, RDMA_VERBS_IOCTL, hdr)) >= 0 &&
	    hdr->num_attrs < 20 && hdr->object_id == m->object && hdr->method_id == m->number && !bent)
		finish(c, m, hdr);
}
