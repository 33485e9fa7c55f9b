// SPDX-License-Identifier: GPL-2.0
/*
 * A test module: a kernel user of verbs, on the first device of driver dingo.
 * A case runs when its name is written to the parameter "run"; the write fails
 * if the case does, and the kernel log says why.
 *
 * srq-tags: a QP is destroyed while completions of its SRQ are unpolled;
 *   afterwards the SRQ has as much room as before.
 * queues, no-queues: makes, and destroys, QUEUES QPs with a CQ each.
 * watch: makes a QP on an SRQ. When the device is removed, "drained" tells
 *   whether the QP could be drained.
 * stop: moves that QP to the error state; the drain then waits for another
 *   event, as if the card had died before the first.
 * segments: the device allows DMA segments of any length.
 * lies: absurd completions are ignored, or have no more bytes than were
 *   posted.
 * inline: inline data in requests that fetch data are refused; a request of
 *   many blocks is completed by the index of its first one.
 * moderation: two completions make one event, after the CQ's period.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "dingo_ib.h" /* where the rings are, for "lies" */

#define QUEUES 200
#define RECEIVES 8
#define BYTES 8
#define FLUSHED 2

static DEFINE_MUTEX(lock);
static struct ib_device *device;
static int drained = -1;
module_param(drained, int, 0444);
MODULE_PARM_DESC(drained, "1: the watched QP was drained when its device went; 0: it was not");

/* A QP with its own CQ, and the SRQ from which it takes receives. */
struct queue {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_srq *srq;
	struct ib_qp *qp;
	struct completion last_wqe;
	bool stopped;
};

static struct queue *queues[QUEUES];
static struct queue *watched;

static void queue_event(struct ib_event *event, void *context)
{
	struct queue *q = context;

	if (event->event == IB_EVENT_QP_LAST_WQE_REACHED)
		complete(&q->last_wqe);
}

/* Destroys the QP and its CQ. */
static void queue_free(struct queue *q)
{
	if (!q)
		return;
	if (!IS_ERR_OR_NULL(q->qp))
		ib_destroy_qp(q->qp);
	if (!IS_ERR_OR_NULL(q->cq))
		ib_free_cq(q->cq);
	if (!IS_ERR_OR_NULL(q->pd))
		ib_dealloc_pd(q->pd);
	kfree(q);
}

static struct queue *queue_make(struct ib_srq *srq, u32 max_inline)
{
	struct ib_qp_init_attr init = {
		.event_handler = queue_event,
		.cap = { .max_send_wr = 16, .max_send_sge = 1,
			 .max_recv_wr = srq ? 0 : 1, .max_recv_sge = 1,
			 .max_inline_data = max_inline },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
		.srq = srq,
	};
	struct queue *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return NULL;
	init_completion(&q->last_wqe);
	q->srq = srq;
	if (!srq)
		q->pd = ib_alloc_pd(device, 0);
	q->cq = ib_alloc_cq(device, NULL, 64, 0, IB_POLL_DIRECT);
	if (IS_ERR(q->cq) || IS_ERR(q->pd))
		goto err;
	init.qp_context = q;
	init.send_cq = q->cq;
	init.recv_cq = q->cq;
	q->qp = ib_create_qp(srq ? srq->pd : q->pd, &init);
	if (IS_ERR(q->qp))
		goto err;
	return q;

err:
	queue_free(q);
	return NULL;
}

static struct queue *queue_new(struct ib_srq *srq)
{
	return queue_make(srq, 0);
}

/* The card's own RoCE v2 address, as source and as destination. */
static int own_address(struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	union ib_gid gid;
	int n;

	for (n = 0; n < 16; n++) {
		attr = rdma_get_gid_attr(device, 1, n);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP)
			break;
		rdma_put_gid_attr(attr);
	}
	if (n == 16)
		return -ENOENT;
	memset(ah, 0, sizeof(*ah));
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(ah, 1);
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (!IS_ERR(ndev))
		ether_addr_copy(ah->roce.dmac, ndev->dev_addr);
	rcu_read_unlock();
	gid = attr->gid;
	rdma_move_grh_sgid_attr(ah, &gid, 0, 64, 0, attr);
	return 0;
}

static int connect(struct ib_qp *qp, struct ib_qp *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE,
	};
	int err;

	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	attr = (struct ib_qp_attr){
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
	};
	err = own_address(&attr.ah_attr);
	if (err)
		return err;
	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	rdma_destroy_ah_attr(&attr.ah_attr);
	if (err)
		return err;
	attr = (struct ib_qp_attr){
		.qp_state = IB_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static struct ib_srq *new_srq(struct ib_pd *pd)
{
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = RECEIVES, .max_sge = 1 },
	};

	return ib_create_srq(pd, &init);
}

/* Posts receives until the SRQ is full; returns their number. */
static int fill_srq(struct ib_srq *srq, u64 addr)
{
	struct ib_sge sge = {
		.addr = addr, .length = BYTES,
		.lkey = srq->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	int n;

	for (n = 0; n < RECEIVES; n++) {
		if (ib_post_srq_recv(srq, &wr, NULL))
			break;
	}
	return n;
}

static int send(struct queue *from, u64 addr)
{
	struct ib_sge sge = {
		.addr = addr, .length = BYTES,
		.lkey = from->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
	};
	struct ib_wc wc;
	int tries, n = 0, err;

	err = ib_post_send(from->qp, &wr, NULL);
	for (tries = 0; !err && !n && tries < 5000; tries++) {
		n = ib_poll_cq(from->cq, 1, &wc);
		if (!n)
			usleep_range(1000, 2000);
	}
	if (err || n != 1 || wc.status) {
		pr_notice("kverbs: a send ended with error %d, %d completions, status %d\n",
			  err, n, n ? wc.status : 0);
		return -EIO;
	}
	return 0;
}

static int run_srq_tags(void)
{
	struct queue *from = NULL, *to = NULL;
	struct ib_srq *srq = NULL;
	struct ib_pd *pd;
	u64 addr;
	void *data;
	int n, err = -ENOMEM;

	pd = ib_alloc_pd(device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	data = kzalloc(BYTES, GFP_KERNEL);
	if (!data)
		goto out_pd;
	addr = ib_dma_map_single(device, data, BYTES, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(device, addr))
		goto out_data;
	srq = new_srq(pd);
	if (IS_ERR(srq))
		goto out_map;
	from = queue_new(NULL);
	to = queue_new(srq);
	if (!from || !to)
		goto out;
	err = connect(from->qp, to->qp);
	if (!err)
		err = connect(to->qp, from->qp);
	if (!err && fill_srq(srq, addr) != RECEIVES)
		err = -ENOSPC;
	for (n = 0; !err && n < RECEIVES; n++)
		err = send(from, addr);
	if (err) {
		pr_notice("kverbs: no way to the case: %d\n", err);
		goto out;
	}
	queue_free(to);
	to = NULL;
	n = fill_srq(srq, addr);
	if (n != RECEIVES) {
		pr_notice("kverbs: of %d receives, %d fit\n", RECEIVES, n);
		err = -ENOSPC;
	}
out:
	queue_free(to);
	queue_free(from);
	ib_destroy_srq(srq);
out_map:
	ib_dma_unmap_single(device, addr, BYTES, DMA_BIDIRECTIONAL);
out_data:
	kfree(data);
out_pd:
	ib_dealloc_pd(pd);
	return err;
}

static int drop_queues(void)
{
	int n;

	for (n = 0; n < QUEUES; n++) {
		queue_free(queues[n]);
		queues[n] = NULL;
	}
	return 0;
}

static int make_queues(void)
{
	int n;

	for (n = 0; n < QUEUES && !queues[n]; n++) {
		queues[n] = queue_new(NULL);
		if (!queues[n]) {
			pr_notice("kverbs: no more than %d queues\n", n);
			drop_queues();
			return -ENOSPC;
		}
	}
	return 0;
}

static void drop_watched(void)
{
	struct ib_srq *srq;
	struct ib_pd *pd;

	if (!watched)
		return;
	srq = watched->srq;
	pd = srq->pd;
	queue_free(watched);
	watched = NULL;
	ib_destroy_srq(srq);
	ib_dealloc_pd(pd);
}

static int watch(void)
{
	struct ib_srq *srq;
	struct ib_pd *pd;
	int err;

	if (watched)
		return -EBUSY;
	pd = ib_alloc_pd(device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	srq = new_srq(pd);
	if (IS_ERR(srq)) {
		ib_dealloc_pd(pd);
		return PTR_ERR(srq);
	}
	watched = queue_new(srq);
	if (!watched) {
		ib_destroy_srq(srq);
		ib_dealloc_pd(pd);
		return -ENOMEM;
	}
	drained = -1;
	err = connect(watched->qp, watched->qp);
	if (err)
		drop_watched();
	return err;
}

/* Like ib_drain_qp(), but with a shorter timeout. */
static bool drain(struct queue *q)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return (q->stopped || !ib_modify_qp(q->qp, &attr, IB_QP_STATE)) &&
	       wait_for_completion_timeout(&q->last_wqe, 10 * HZ);
}

static int stop(void)
{
	if (!watched)
		return -ENOENT;
	if (!drain(watched))
		return -ETIMEDOUT;
	watched->stopped = true;
	return 0;
}

/* Entries of a scatter list may be as long as those of a page list. */
static int long_segments(void)
{
	return ib_dma_max_seg_size(device) == UINT_MAX ? 0 : -ERANGE;
}

/* Writes a completion as the card would; returns ib_poll_cq()'s result. */
static int lie_as(struct ib_cq *ibcq, u32 qpn, u32 op, u32 index, u8 status,
		  u32 bytes, struct ib_wc *wc)
{
	struct dingo_cq *cq = to_dcq(ibcq);
	struct dingo_cqe *ring = cq->qmem->ring.va;

	ring[cq->consumer & (BIT(cq->log_size) - 1)] = (struct dingo_cqe){
		.wqe_index = cpu_to_le32(index),
		.qpn_op = cpu_to_le32(op << 24 | qpn),
		.status = status,
		.byte_len = cpu_to_le32(bytes),
		.owner = !(cq->consumer & BIT(cq->log_size)),
	};
	return ib_poll_cq(ibcq, 1, wc);
}

static int lie(struct ib_cq *ibcq, u32 qpn, u32 op, u32 index)
{
	struct ib_wc wc;

	return lie_as(ibcq, qpn, op, index, 0, 0, &wc);
}

/* Completions with too many bytes, with an invalid status, and a right one. */
static bool lies_of_results(struct queue *q)
{
	struct ib_sge sge = { .length = BYTES };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct ib_wc wc[3] = {};
	int n, polled = 0;

	for (n = 0; n < 3; n++) {
		if (ib_post_recv(q->qp, &wr, NULL))
			return false;
		polled += lie_as(q->cq, q->qp->qp_num, DINGO_WC_RECV, n,
				 n == 1 ? 200 : 0, BYTES + !n, &wc[n]);
	}
	pr_notice("kverbs: %d receives, status and bytes %d %u, %d %u, %d %u\n",
		  polled, wc[0].status, wc[0].byte_len, wc[1].status,
		  wc[1].byte_len, wc[2].status, wc[2].byte_len);
	return polled == 3 && wc[0].status == IB_WC_LOC_LEN_ERR &&
	       wc[1].status == IB_WC_GENERAL_ERR && !wc[2].status &&
	       wc[2].byte_len == BYTES;
}

static int run_lies(void)
{
	struct queue *one = queue_new(NULL), *two = queue_new(NULL);
	struct queue *shared = NULL;
	struct ib_srq *srq = NULL;
	int room = 0, got[6] = {};
	bool results = false;
	struct ib_pd *pd;

	pd = ib_alloc_pd(device, 0);
	if (!IS_ERR(pd))
		srq = new_srq(pd);
	if (!IS_ERR_OR_NULL(srq))
		shared = queue_new(srq);
	if (!one || !two || !shared)
		goto out;
	got[0] = lie(one->cq, two->qp->qp_num, DINGO_WC_RECV, 0);
	got[1] = lie(one->cq, one->qp->qp_num, DINGO_WC_RECV, 0);
	got[2] = lie(one->cq, one->qp->qp_num, DINGO_WR_SEND, 5);
	got[3] = lie(shared->cq, shared->qp->qp_num, DINGO_WC_RECV, 77777);
	fill_srq(srq, 0);
	room = lie(shared->cq, shared->qp->qp_num, DINGO_WC_RECV, 0);
	got[4] = lie(shared->cq, shared->qp->qp_num, DINGO_WC_RECV, 0);
	got[5] = fill_srq(srq, 0) - 1;
	results = lies_of_results(two);
	pr_notice("kverbs: a receive %d; %d of another's QP, %d and %d that were not posted, %d of no tag, %d again, %d places too many\n",
		  room, got[0], got[1], got[2], got[3], got[4], got[5]);
out:
	queue_free(shared);
	if (!IS_ERR_OR_NULL(srq))
		ib_destroy_srq(srq);
	if (!IS_ERR(pd))
		ib_dealloc_pd(pd);
	queue_free(two);
	queue_free(one);
	return room == 1 && results && !memchr_inv(got, 0, sizeof(got)) ?
		       0 : -EBADMSG;
}

static int post_inline(struct ib_qp *qp, enum ib_wr_opcode opcode, void *data,
		       u32 length)
{
	struct ib_sge sge = { .addr = (uintptr_t)data, .length = length };
	struct ib_atomic_wr atomic = {
		.wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode,
			.send_flags = IB_SEND_INLINE },
	};
	struct ib_rdma_wr rdma = { .wr = atomic.wr };

	return ib_post_send(qp, opcode == IB_WR_ATOMIC_FETCH_AND_ADD ?
				&atomic.wr : &rdma.wr, NULL);
}

static int run_inline(void)
{
	struct queue *q = queue_make(NULL, DINGO_MAX_INLINE);
	int err = -ENOMEM, read, atomic, wrong, right;
	void *data = kzalloc(DINGO_MAX_INLINE, GFP_KERNEL);

	if (!q || !data)
		goto out;
	read = post_inline(q->qp, IB_WR_RDMA_READ, data, DINGO_MAX_INLINE);
	/* As much as fits into the WQE: more would overwrite other memory. */
	atomic = post_inline(q->qp, IB_WR_ATOMIC_FETCH_AND_ADD, data,
			     DINGO_MAX_INLINE - 16);
	err = post_inline(q->qp, IB_WR_RDMA_WRITE, data, DINGO_MAX_INLINE);
	wrong = lie(q->cq, q->qp->qp_num, DINGO_WR_WRITE, 1);
	right = lie(q->cq, q->qp->qp_num, DINGO_WR_WRITE, 0);
	pr_notice("kverbs: inline: READ %d, atomic %d, WRITE %d; completed by its second block %d, its first %d\n",
		  read, atomic, err, wrong, right);
	if (!err && (read != -EINVAL || atomic != -EINVAL || wrong || right != 1))
		err = -EBADMSG;
out:
	kfree(data);
	queue_free(q);
	return err;
}

#define MODERATION_US 60000

/* The completion events of a CQ. */
struct events {
	struct completion first;
	atomic_t count;
	ktime_t armed;
	ktime_t told;
};

static void moderated(struct ib_cq *cq, void *context)
{
	struct events *events = context;

	events->told = ktime_get();
	atomic_inc(&events->count);
	complete(&events->first);
}

/* Flushes two receives on an armed CQ. */
static int flush(struct ib_pd *pd, struct ib_cq *cq)
{
	struct ib_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = FLUSHED,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct ib_recv_wr wr = {};
	struct ib_wc wc[FLUSHED];
	struct ib_qp *qp;
	int n, err;

	qp = ib_create_qp(pd, &init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	for (n = 0; !err && n < FLUSHED; n++)
		err = ib_post_recv(qp, &wr, NULL);
	attr.qp_state = IB_QPS_ERR;
	if (!err)
		err = ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	if (!err)
		err = ib_modify_qp(qp, &attr, IB_QP_STATE);
	for (n = 0; !err && ib_poll_cq(cq, FLUSHED, wc) != FLUSHED; n++) {
		err = n < 5000 ? 0 : -ETIMEDOUT;
		usleep_range(1000, 2000);
	}
	ib_destroy_qp(qp);
	return err;
}

static int run_moderation(void)
{
	struct ib_cq_init_attr attr = { .cqe = 16 };
	struct events events = {};
	struct ib_pd *pd;
	struct ib_cq *cq;
	int err;

	init_completion(&events.first);
	pd = ib_alloc_pd(device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	cq = ib_create_cq(device, moderated, NULL, &events, &attr);
	if (IS_ERR(cq)) {
		ib_dealloc_pd(pd);
		return PTR_ERR(cq);
	}
	err = rdma_set_cq_moderation(cq, 100, MODERATION_US);
	events.armed = ktime_get(); /* it is armed later */
	if (!err)
		err = flush(pd, cq);
	if (!err && !wait_for_completion_timeout(&events.first, 10 * HZ))
		err = -ETIMEDOUT;
	ib_destroy_cq(cq);
	ib_dealloc_pd(pd);
	pr_notice("kverbs: moderation: error %d, %d events\n", err,
		  atomic_read(&events.count));
	if (!err && atomic_read(&events.count) != 1)
		err = -EBADMSG;
	if (!err && ktime_us_delta(events.told, events.armed) < MODERATION_US)
		err = -ETIME;
	return err;
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{ "srq-tags", run_srq_tags },
	{ "queues", make_queues },
	{ "no-queues", drop_queues },
	{ "watch", watch },
	{ "stop", stop },
	{ "segments", long_segments },
	{ "lies", run_lies },
	{ "inline", run_inline },
	{ "moderation", run_moderation },
};

static int set_run(const char *text, const struct kernel_param *param)
{
	int n, err = -EINVAL;

	mutex_lock(&lock);
	for (n = 0; n < ARRAY_SIZE(cases); n++) {
		if (sysfs_streq(text, cases[n].name))
			err = device ? cases[n].run() : -ENODEV;
	}
	mutex_unlock(&lock);
	return err;
}

static const struct kernel_param_ops run_ops = { .set = set_run };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "name of a case to run");

static int add_one(struct ib_device *ibdev)
{
	mutex_lock(&lock);
	if (!device && ibdev->dev.parent && ibdev->dev.parent->driver &&
	    !strcmp(ibdev->dev.parent->driver->name, "dingo"))
		device = ibdev;
	mutex_unlock(&lock);
	return 0;
}

static void remove_one(struct ib_device *ibdev, void *data)
{
	mutex_lock(&lock);
	if (device == ibdev) {
		if (watched)
			drained = drain(watched);
		drop_watched();
		drop_queues();
		device = NULL;
	}
	mutex_unlock(&lock);
}

static struct ib_client client = {
	.name = "kverbs",
	.add = add_one,
	.remove = remove_one,
};

static int __init kverbs_init(void)
{
	return ib_register_client(&client);
}
module_init(kverbs_init);

static void __exit kverbs_exit(void)
{
	ib_unregister_client(&client);
}
module_exit(kverbs_exit);

MODULE_DESCRIPTION("Kernel user of verbs, for tests of dingo_ib.ko");
MODULE_LICENSE("GPL");
