/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Objects and functions of the dingo provider. dingo_hw.h (the
 * contract) has the layouts of rings.
 */
#ifndef DINGO_H
#define DINGO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/driver.h>
#include <util/udma_barrier.h>
#include <util/util.h>

#include "dingo_hw.h"

/* A spinlock; a no-op if the application promised single-threaded use (needed = false). */
struct dingo_lock {
	_Atomic(uint32_t) held;
	bool needed;
};

/* One ring's doorbell: a slot of a mapped doorbell page. */
struct dingo_db {
	void *slot;
	_Atomic(uint8_t) *dirty;	/* dirty byte of its line; NULL without DB_MEMORY */
	_Atomic(uint32_t) *need_kick;
	void *kick;			/* register that wakes the card; NULL: use kick_fd */
	int kick_fd;
};

/* Queue memory, mapped from the kernel. */
struct dingo_ring {
	void *buf;
	size_t bytes;
	uint32_t mask;			/* entries - 1 */
	uint8_t log_stride;
	struct dingo_db db;
};

/* The push page of a doorbell page, mapped write-combining. QPs of the doorbell page share it. */
struct dingo_push {
	struct dingo_lock lock;		/* held from first store to doorbell */
	void *window;			/* DINGO_PUSH_BYTES; NULL: not mapped */
};

struct dingo_db_page {
	uint64_t offset;		/* for mmap() */
	void *map;
	struct dingo_push push;
	struct dingo_db_page *next;
};

#define DINGO_QP_TABLE_BITS 8
#define DINGO_QP_TABLE_SIZE (1U << DINGO_QP_TABLE_BITS)

/* A value of register CLOCK and the time of day (CLOCK_REALTIME) at which it was read. */
struct dingo_clock {
	uint64_t card_ns;
	uint64_t real_ns;
};

struct dingo_clock_page;

struct dingo_context {
	struct verbs_context vctx;
	uint64_t caps;			/* DINGO_CAP_* */
	uint32_t kick_mode;
	void *kick_page;
	int kick_fd;			/* with DINGO_KICK_FD, else -1 */
	/* DINGO_STATUS_GONE is set once nothing completes any more */
	const _Atomic(uint32_t) *status;
	void *status_page;		/* NULL: status is a word that stays 0 */
	uint64_t status_offset;		/* mmap() offset of the status page */
	const struct dingo_clock_page *clock; /* NULL: time of day not available */
	uint32_t max_inline;
	uint8_t log_max_sq;
	uint8_t log_max_rq;
	pthread_mutex_t mutex;		/* protects db_pages and changes of qp_table */
	struct dingo_db_page *db_pages;
	struct dingo_direct_side *direct; /* own regions; NULL: no direct road */
	/* QPs by QPN index; read by poll_cq under the CQ's lock */
	struct dingo_qp **_Atomic qp_table[DINGO_QP_TABLE_SIZE];
};

struct dingo_device {
	struct verbs_device vdev;
};

/* A protection domain, or a parent domain that points to one. */
struct dingo_pd {
	struct ibv_pd pd;
	struct dingo_pd *parent;	/* in a parent domain: the real PD; else NULL */
	struct dingo_td *td;
	atomic_uint refcount;
	uint32_t pdn;
	/* allocators of a parent domain; NULL: libc */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size,
		       size_t alignment, uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;
};

/* Bookkeeping memory of one object. Rings are not in it: the card's driver allocates them. */
struct dingo_buf {
	void *at;
	struct dingo_pd *owner;		/* domain whose allocator made it; NULL: libc */
	uint64_t resource_type;		/* DINGODV_RES_TYPE_* */
};

struct dingo_td {
	struct ibv_td td;
	atomic_uint refcount;
};

/* Entries of the rings from before a resize, until they are polled. */
struct dingo_old_entries {
	uint32_t count;			/* not polled */
	uint32_t next;			/* index of the first of these */
	struct dingo_cqe entries[];
};

struct dingo_cq {
	struct verbs_cq vcq;
	struct dingo_lock lock;
	struct dingo_ring ring;
	struct dingo_ring device_ring;	/* polled by a device: `ring` stays empty */
	uint32_t cqn;
	uint32_t consumer;
	uint32_t arm;			/* ARM_SN and ARM_SOLICITED as last rung */
	bool armed_any;			/* armed for any completion, event not yet read */
	bool wants_time;		/* completions have time stamps */
	struct dingo_cq_direct *direct;	/* completions of the direct road; NULL: not used */
	struct dingo_old_entries *old;	/* polled before those of the ring; NULL: none */
	_Atomic(uint32_t) empty_at;	/* consumer index at the last empty poll ... */
	_Atomic(uint32_t) empty_polls;	/* ... and number of empty polls at that index */
	uint32_t report_at;		/* consumer index at which the next report is due */
	struct dingo_qp *last_qp;	/* QP of the last polled entry; never NULL */
	const struct dingo_cqe *cur;	/* extended polling: current entry */
	_Atomic(pthread_t) poller;	/* thread between start_poll and end_poll; 0: none */
	uint32_t wc_flags;		/* IBV_WC_* of that entry */
	enum ibv_wc_opcode opcode;
	struct dingo_pd *parent_domain;
	const _Atomic(uint32_t) *status; /* that of the context */
	const struct dingo_clock_page *clock_page; /* that of the context */
	struct dingo_clock clock;	/* as last read from clock_page */
};

/* What polling needs to know of a posted send WQE; stored at the index of its first block. */
struct dingo_sent {
	uint64_t wr_id;
	uint8_t blocks;
	uint8_t opcode;			/* enum ibv_wc_opcode */
};

struct dingo_sq {
	struct dingo_lock lock;
	struct dingo_ring ring;
	struct dingo_sent *sent;	/* indexed by block */
	struct dingo_push *push;	/* NULL: the card reads the ring */
	uint32_t rung;			/* producer at the last doorbell; `push` only */
	uint32_t producer;		/* blocks written */
	_Atomic(uint32_t) consumer;	/* blocks completed */
	uint32_t max_sge;
	uint32_t max_inline;
	uint32_t small_inline;		/* inline bytes in the first block; 0 on UD */
	uint32_t small_opcodes;		/* mask of opcodes that post_small() handles */
	uint32_t max_blocks;		/* most blocks of one WQE */
	/* ibv_wr_*: between wr_start and wr_complete */
	uint32_t start;			/* producer at wr_start */
	uint32_t data_offset;		/* byte offset of the data in the current WQE */
	uint32_t data_bytes;
	struct dingo_wqe_ctrl *ctrl;	/* of the current WQE; NULL: none */
	int error;
};

struct dingo_rq {
	struct dingo_lock lock;
	struct dingo_ring ring;
	uint64_t *wr_id;		/* indexed by tag, which is the entry's index */
	uint32_t producer;
	_Atomic(uint32_t) consumer;
	uint32_t max_sge;
};

struct dingo_srq {
	struct verbs_srq vsrq;
	struct dingo_lock lock;
	struct dingo_ring ring;
	uint32_t srqn;
	uint32_t producer;
	uint32_t max_sge;
	uint64_t *wr_id;		/* indexed by tag */
	uint32_t *next_free;		/* indexed by tag */
	uint32_t free_head;		/* DINGO_INVALID_ID: none */
	struct dingo_pd *parent_domain;
	struct dingo_buf work;		/* wr_id and next_free */
};

struct dingo_qp {
	struct verbs_qp vqp;
	uint32_t qpn;
	uint32_t allowed_opcodes;	/* mask of enum ibv_wr_opcode */
	uint8_t default_flags;		/* of WQEs: SIGNALED with sq_sig_all */
	bool is_ud;
	bool device_posts;		/* a device posts sends (dingodv_create_qp()) */
	struct dingo_sq sq;
	struct dingo_rq rq;
	struct dingo_srq *srq;
	struct dingo_direct *direct;	/* under the SQ's lock; NULL: no direct road */
	struct dingo_pd *parent_domain;
	struct dingo_buf work;		/* sq.sent and rq.wr_id */
};

struct dingo_ah {
	struct ibv_ah ah;
	struct dingo_wqe_ud av;		/* as copied into a WQE */
};

#define DINGO_CAST(type, member)                                               \
	static inline struct dingo_##type *to_dingo_##type(                    \
		const struct ibv_##type *p)                                    \
	{                                                                      \
		return container_of(p, struct dingo_##type, member);           \
	}
DINGO_CAST(context, vctx.context)
DINGO_CAST(pd, pd)
DINGO_CAST(td, td)
DINGO_CAST(cq, vcq.cq)
DINGO_CAST(srq, vsrq.srq)
DINGO_CAST(qp, vqp.qp)
DINGO_CAST(ah, ah)

static inline struct dingo_cq *cq_ex_to_dingo_cq(const struct ibv_cq_ex *cq)
{
	return container_of(cq, struct dingo_cq, vcq.cq_ex);
}

static inline struct dingo_qp *qp_ex_to_dingo_qp(const struct ibv_qp_ex *qp)
{
	return container_of(qp, struct dingo_qp, vqp.qp_ex);
}

/* Returns true if a device polls the CQ (dingodv_create_cq()). */
static inline bool dingo_device_polls(const struct ibv_cq *cq)
{
	return to_dingo_cq(cq)->device_ring.buf;
}

/* lock.c: spins until the lock is acquired. */
void dingo_lock_contended(struct dingo_lock *lock);

/* Returns false if another thread holds the lock; dingo_lock_contended() waits for it. */
static inline bool dingo_trylock(struct dingo_lock *lock)
{
	return unlikely(!lock->needed) ||
	       !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire);
}

static inline void dingo_lock(struct dingo_lock *lock)
{
	if (unlikely(!dingo_trylock(lock)))
		dingo_lock_contended(lock);
}

static inline void dingo_unlock(struct dingo_lock *lock)
{
	if (likely(lock->needed))
		atomic_store_explicit(&lock->held, 0, memory_order_release);
}

static inline void dingo_lock_init(struct dingo_lock *lock, bool needed)
{
	atomic_init(&lock->held, 0);
	lock->needed = needed;
}

/* Returns the QP with this number, or NULL if it was destroyed. */
static inline struct dingo_qp *dingo_find_qp(struct dingo_context *ctx,
					     uint32_t qpn)
{
	uint32_t index = qpn & ((1U << DINGO_QPN_INDEX_BITS) - 1);
	struct dingo_qp **leaf;
	struct dingo_qp *qp;

	leaf = atomic_load_explicit(
		&ctx->qp_table[index >> DINGO_QP_TABLE_BITS],
		memory_order_acquire);
	if (!leaf)
		return NULL;
	qp = leaf[index & (DINGO_QP_TABLE_SIZE - 1)];
	return qp && qp->qpn == qpn ? qp : NULL;
}

/* domain.c */
struct ibv_pd *dingo_alloc_pd(struct ibv_context *context);
int dingo_dealloc_pd(struct ibv_pd *pd);
struct ibv_td *dingo_alloc_td(struct ibv_context *context,
			      struct ibv_td_init_attr *attr);
int dingo_dealloc_td(struct ibv_td *td);
struct ibv_pd *
dingo_alloc_parent_domain(struct ibv_context *context,
			  struct ibv_parent_domain_init_attr *attr);
struct ibv_pd *dingo_import_pd(struct ibv_context *context,
			       uint32_t pd_handle);
void dingo_unimport_pd(struct ibv_pd *pd);
/* Allocates zeroed memory with the allocator of `domain`, which may be NULL. Returns 0 or ENOMEM.
 * The memory at buf->at is valid until dingo_buf_free(), which accepts an empty buffer, too.
 */
int dingo_buf_alloc(struct dingo_buf *buf, struct dingo_pd *domain, size_t size,
		    uint64_t resource_type);
void dingo_buf_free(struct dingo_buf *buf);
/* Takes a reference to `pd` if it is a parent domain and returns it; NULL for a plain PD. */
struct dingo_pd *dingo_hold_parent_domain(struct ibv_pd *pd);
void dingo_put_parent_domain(struct dingo_pd *domain);
/* Returns true if the application promised single-threaded use of the domain's objects (a TD). */
bool dingo_single_threaded(const struct dingo_pd *domain);

/* mr.c */
struct ibv_mr *dingo_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access);
struct ibv_mr *dingo_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access);
int dingo_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access);
int dingo_dereg_mr(struct verbs_mr *vmr);
struct ibv_mr *dingo_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
void dingo_unimport_mr(struct ibv_mr *mr);
struct ibv_mw *dingo_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int dingo_dealloc_mw(struct ibv_mw *mw);
int dingo_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind);

/* clock.c */
/* Reads the pair of clock values from the page. Leaves `clock` unchanged if the card died while
 * writing the pair.
 */
void dingo_clock_read(const struct dingo_clock_page *page,
		      struct dingo_clock *clock);
/* Converts a time stamp, bits 47:0 of CLOCK, to CLOCK_REALTIME in ns. */
uint64_t dingo_clock_real(const struct dingo_clock *clock, uint64_t stamp);
int dingo_query_rt_values(struct ibv_context *context,
			  struct ibv_values_ex *values);

/* dm.c */
struct ibv_dm *dingo_alloc_dm(struct ibv_context *context,
			      struct ibv_alloc_dm_attr *attr);
int dingo_free_dm(struct ibv_dm *dm);
struct ibv_dm *dingo_import_dm(struct ibv_context *context, uint32_t dm_handle);
void dingo_unimport_dm(struct ibv_dm *dm);
struct ibv_mr *dingo_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
			       uint64_t offset, size_t length,
			       unsigned int access);

/* cq.c */
struct dingo_cq *dingo_make_cq_ex(struct ibv_context *context,
				  struct ibv_cq_init_attr_ex *attr,
				  bool device_polls);
struct ibv_cq *dingo_create_cq(struct ibv_context *context, int cqe,
			       struct ibv_comp_channel *channel, int vector);
struct ibv_cq_ex *dingo_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *attr);
int dingo_destroy_cq(struct ibv_cq *cq);
int dingo_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int dingo_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
void dingo_cq_event(struct ibv_cq *cq);
void dingo_cq_forget_qp(struct dingo_cq *cq, struct dingo_qp *qp);

/* cq_resize.c */
int dingo_resize_cq(struct ibv_cq *cq, int cqe);

/* cq_poll.c */
extern struct dingo_qp dingo_no_qp; /* placeholder in last_qp: no entry has its number */
int dingo_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
/* ..._with_direct: variant for contexts with the direct road. */
int dingo_poll_cq_with_direct(struct ibv_cq *cq, int count, struct ibv_wc *wc);

/* cq_poll_ex.c */
int dingo_cq_fill_ex_ops(struct dingo_cq *cq,
			 const struct ibv_cq_init_attr_ex *attr);

/* srq.c */
struct ibv_srq *dingo_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr);
struct ibv_srq *dingo_create_srq_ex(struct ibv_context *context,
				    struct ibv_srq_init_attr_ex *attr);
int dingo_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int dingo_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int dingo_get_srq_num(struct ibv_srq *srq, uint32_t *srqn);
int dingo_destroy_srq(struct ibv_srq *srq);

/* qp.c */
struct ibv_qp *dingo_make_qp(struct ibv_context *context,
			     struct ibv_qp_init_attr_ex *attr,
			     bool device_posts);
struct ibv_qp *dingo_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *dingo_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr);
int dingo_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int dingo_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr);
int dingo_destroy_qp(struct ibv_qp *qp);

/* send.c, send_ex.c, recv.c */
/* Sets the opcodes and limits of sends according to the QP's type and the card's capabilities. */
void dingo_qp_init_send(struct dingo_qp *qp, enum ibv_qp_type type,
			bool signal_all, const struct dingo_context *ctx);
int dingo_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad);
int dingo_qp_fill_wr_ops(struct dingo_qp *qp,
			 const struct ibv_qp_init_attr_ex *attr);
int dingo_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad);
int dingo_post_send_with_direct(struct ibv_qp *qp, struct ibv_send_wr *wr,
				struct ibv_send_wr **bad);
int dingo_post_recv_with_direct(struct ibv_qp *qp, struct ibv_recv_wr *wr,
				struct ibv_recv_wr **bad);
int dingo_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad);

/* ah.c */
struct ibv_ah *dingo_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int dingo_destroy_ah(struct ibv_ah *ah);

#endif
