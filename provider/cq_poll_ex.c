// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Extended polling, ibv_create_cq_ex(3): the lock is held from start_poll to end_poll. */
#include <errno.h>

#include "completion.h"
#include "dingo.h"
#include "direct.h"

/* Makes a direct completion, which no card has written, the current one. */
static void take_direct(struct ibv_cq_ex *ibcq,
			const struct dingo_direct_entry *entry)
{
	struct dingo_cq *cq = cq_ex_to_dingo_cq(ibcq);

	cq->cur = &entry->cqe;
	cq->opcode = entry->opcode;
	cq->wc_flags = 0;
	ibcq->wr_id = entry->wr_id;
	ibcq->status = IBV_WC_SUCCESS;
}

static int take_next(struct ibv_cq_ex *ibcq)
{
	struct dingo_cq *cq = cq_ex_to_dingo_cq(ibcq);
	const struct dingo_direct_entry *entry = NULL;
	struct dingo_completion done;
	const struct dingo_cqe *cqe;

	do {
		cqe = unlikely(cq->direct) ? dingo_direct_next_of_all(cq, &entry) :
					     dingo_cq_next(cq);
		if (unlikely(entry)) {
			take_direct(ibcq, entry);
			return 0;
		}
		if (!cqe)
			return dingo_cq_empty(cq) ?: ENOENT;
	} while (!dingo_settle(cq, cqe, &done));
	cq->cur = cqe;
	cq->opcode = done.opcode;
	cq->wc_flags = done.flags;
	ibcq->wr_id = done.wr_id;
	ibcq->status = dingo_cqe_status(cqe);
	return 0;
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct dingo_cq *cq = cq_ex_to_dingo_cq(ibcq);
	int err;

	if (attr->comp_mask)
		return EINVAL;
	dingo_lock(&cq->lock);
	err = take_next(ibcq);
	if (err) {
		dingo_cq_polled(cq);
		dingo_unlock(&cq->lock);
		dingo_cq_give_way(cq);
		return err;
	}
	atomic_store_explicit(&cq->poller, pthread_self(), memory_order_relaxed);
	return 0;
}

/* Reports consumed entries here, too, as the caller may post between two polls. */
static int next_poll(struct ibv_cq_ex *ibcq)
{
	dingo_cq_polled(cq_ex_to_dingo_cq(ibcq));
	return take_next(ibcq);
}

static void end_poll(struct ibv_cq_ex *ibcq)
{
	struct dingo_cq *cq = cq_ex_to_dingo_cq(ibcq);

	cq->cur = NULL;
	dingo_cq_polled(cq);
	atomic_store_explicit(&cq->poller, 0, memory_order_relaxed);
	dingo_unlock(&cq->lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ibcq)
{
	return cq_ex_to_dingo_cq(ibcq)->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return cq_ex_to_dingo_cq(ibcq)->cur->vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return cq_ex_to_dingo_cq(ibcq)->wc_flags;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ibcq)
{
	return le32toh(cq_ex_to_dingo_cq(ibcq)->cur->byte_len);
}

/* ibv_wc_read_invalidated_rkey() calls this and expects the rkey in host byte order. */
static __be32 read_imm_data(struct ibv_cq_ex *ibcq)
{
	struct dingo_cq *cq = cq_ex_to_dingo_cq(ibcq);

	if (cq->wc_flags & IBV_WC_WITH_INV)
		return (__force __be32)le32toh((__force __le32)cq->cur->imm);
	return cq->cur->imm;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ibcq)
{
	return DINGO_GET(DINGO_CQE_QPN_OP_QPN_MASK,
			 le32toh(cq_ex_to_dingo_cq(ibcq)->cur->qpn_op));
}

static uint32_t read_src_qp(struct ibv_cq_ex *ibcq)
{
	return DINGO_GET(DINGO_CQE_SRC_QPN_QPN_MASK,
			 le32toh(cq_ex_to_dingo_cq(ibcq)->cur->src_qpn));
}

static uint8_t read_sl(struct ibv_cq_ex *ibcq)
{
	return dingo_cqe_sl(cq_ex_to_dingo_cq(ibcq)->cur);
}

/* RoCE has no LIDs */
static uint32_t read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return 0;
}

/* Bits 47:0 of the card's clock in ns, as
 * completion_timestamp_mask of ibv_query_device_ex() says.
 */
static uint64_t read_completion_ts(struct ibv_cq_ex *ibcq)
{
	const struct dingo_cqe *cqe = cq_ex_to_dingo_cq(ibcq)->cur;

	return (uint64_t)le16toh(cqe->ts_hi) << 32 | le32toh(cqe->ts_lo);
}

/* Reads the pair anew, so that a change of the time of day also applies to earlier completions. */
static uint64_t read_completion_wallclock(struct ibv_cq_ex *ibcq)
{
	struct dingo_cq *cq = cq_ex_to_dingo_cq(ibcq);

	dingo_clock_read(cq->clock_page, &cq->clock);
	return dingo_clock_real(&cq->clock, read_completion_ts(ibcq));
}

int dingo_cq_fill_ex_ops(struct dingo_cq *cq,
			 const struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	if (attr->wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (attr->wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (attr->wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (attr->wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_src_qp;
	if (attr->wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_slid;
	if (attr->wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_sl;
	if (attr->wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_dlid_path_bits;
	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_completion_ts;
	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = read_completion_wallclock;
	return 0;
}
