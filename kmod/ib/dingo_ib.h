/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Internal interfaces of dingo_ib.ko. Objects are embedded in the structures
 * that ib_core allocates; destroy functions first send the command to the card
 * and then free memory.
 */
#ifndef DINGO_IB_H
#define DINGO_IB_H

#include <linux/dma-buf.h>
#include <linux/idr.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>
#include <rdma/uverbs_ioctl.h>

#include "dingo-abi.h"
#include "dingo_core.h"

#define DINGO_QPN_INDEX_MASK (BIT(DINGO_QPN_INDEX_BITS) - 1)
#define DINGO_FIRST_QP_INDEX 2 /* 1 is the GSI QP */

/* Copy of an entry of the card's GID table, to rewrite it if a MAC changes. */
struct dingo_gid_shadow {
	const struct net_device *ndev; /* compared only; NULL: not valid */
	u8 gid[16];
	u16 vlan;
	u16 domain; /* 0: no entry */
};

/* A network namespace that has GIDs or contexts; number: its index + 1. */
struct dingo_domain {
	u64 cookie; /* unique to the namespace, never reused */
	u32 users;
};

struct dingo_ibdev {
	struct ib_device ibdev;
	struct dingo_dev *dev;
	struct dingo_listener listener;
	bool leaving; /* accepts no more connections */

	struct ida pdns;
	struct ida mr_ids;
	u16 *mr_tags; /* last tag of each MR index, under mr_lock */
	spinlock_t mr_lock;

	/* QP index -> struct dingo_qp, SRQN -> struct dingo_srq. The xarrays'
	 * locks are taken in interrupt context; an object found under a lock is
	 * valid until the lock is released.
	 */
	struct xarray qps;
	struct mutex counter_lock; /* protects the members up to qp_stats_past */
	struct xarray qp_stats; /* id of a counter -> struct dingo_qp_stat */
	u64 qp_stats_past[DINGO_CARD_COUNTERS]; /* of destroyed counters */

	struct xarray srqs;
	u8 *qp_tags; /* last tag of each QP index, under qps' lock */

	/* Async events and page list updates; event handlers may sleep. */
	struct workqueue_struct *wq;

	struct mutex gid_lock; /* protects gids and domains */
	struct dingo_gid_shadow *gids;
	struct dingo_domain *domains;
	u32 num_domains;
	struct notifier_block netdev_nb;

	/* Kernel CQs, to wake their users if the card dies. */
	spinlock_t kcq_lock;
	struct list_head kcqs;
	struct work_struct wake_work;

	spinlock_t status_lock; /* taken in interrupt context */
	u32 *status; /* the page that processes map (dingo-abi.h) */
};

static inline struct dingo_ibdev *to_dibdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct dingo_ibdev, ibdev);
}

static inline struct dingo_dev *to_ddev(struct ib_device *ibdev)
{
	return to_dibdev(ibdev)->dev;
}

/* ------------------------------------------------------- dingo_ucontext.c */

struct dingo_ucontext {
	struct ib_ucontext ibuc;
	struct dingo_db_space db;
	struct dingo_mmap *kick; /* NULL without DB_MEMORY */
	struct dingo_mmap *status;
	u16 domain; /* namespace whose GIDs its QPs may use; 0: all */
	struct inode *dm_inode; /* inode of device memory mappings, or NULL */
	struct xarray dm_mms; /* address spaces that have mapped some */
};

enum dingo_mmap_kind {
	DINGO_MMAP_IO, /* a page of a BAR: doorbells, kick page */
	DINGO_MMAP_PUSH, /* the same, write-combining */
	DINGO_MMAP_STATUS, /* the device's status page */
	DINGO_MMAP_RING, /* queue memory */
	DINGO_MMAP_DM, /* device memory */
};

/* The object behind one mmap() offset. */
struct dingo_mmap {
	struct rdma_user_mmap_entry rdma;
	enum dingo_mmap_kind kind;
	bool cached;
	phys_addr_t phys; /* DINGO_MMAP_IO, DINGO_MMAP_PUSH */
};

/*
 * Memory of one queue. For a user queue it also has an mmap() offset and lives
 * until the last mmap() call that uses it has returned.
 */
struct dingo_qmem {
	struct dingo_mmap map;
	struct dingo_dev *dev;
	struct dingo_ring ring;
	bool user;
};

static inline struct dingo_ucontext *to_ducontext(struct ib_ucontext *ibuc)
{
	return container_of(ibuc, struct dingo_ucontext, ibuc);
}

static inline struct dingo_ucontext *dingo_udata_ucontext(struct ib_udata *u)
{
	return rdma_udata_to_drv_context(u, struct dingo_ucontext, ibuc);
}

int dingo_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void dingo_dealloc_ucontext(struct ib_ucontext *ibuc);
void dingo_ucontext_describe(struct dingo_ucontext *uc,
			     struct dingo_alloc_ucontext_resp *resp);
void dingo_disassociate_ucontext(struct ib_ucontext *ibuc);
void dingo_status_gone(struct dingo_ibdev *ib);
int dingo_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void dingo_mmap_free(struct rdma_user_mmap_entry *entry);

struct dingo_db_space *dingo_db_space(struct dingo_dev *dev,
				      struct dingo_ucontext *uc);
int dingo_qmem_alloc(struct dingo_dev *dev, struct dingo_ucontext *uc,
		     size_t bytes, struct dingo_qmem **result);
void dingo_qmem_free(struct dingo_qmem *qmem);
int dingo_ring_map_fill(struct dingo_ucontext *uc, struct dingo_qmem *qmem,
			struct dingo_db *db, u8 log_size, u8 log_stride,
			struct dingo_ring_map *map);
int dingo_push_map(struct dingo_ucontext *uc, struct dingo_db *db,
		   u64 *offset);

/* ------------------------------------------------------------- dingo_dm.c */

extern const struct uapi_definition dingo_dm_defs[];
/* ib_dm.length has 32 bits, and a piece consists of whole pages. */
#define DINGO_MAX_DM ALIGN_DOWN(U32_MAX, PAGE_SIZE)
void dingo_dm_init(struct dingo_ibdev *ib);
int dingo_dm_mmap(struct dingo_ucontext *uc, struct dingo_mmap *map,
		  struct vm_area_struct *vma);
void dingo_dm_free(struct dingo_mmap *map);
void dingo_dm_open(struct dingo_ucontext *uc);
void dingo_dm_disassociate(struct dingo_ucontext *uc);
void dingo_dm_close(struct dingo_ucontext *uc);

/* --------------------------------------------------------- dingo_import.c */

extern const struct uapi_definition dingo_uapi_defs[];
int dingo_query_ucontext(struct ib_ucontext *ibuc,
			 struct uverbs_attr_bundle *attrs);

/* ---------------------------------------------------------- dingo_udata.c */

int dingo_udata_in(struct ib_udata *udata, void *req, size_t size);
int dingo_udata_none(struct ib_udata *udata);
int dingo_udata_out(struct ib_udata *udata, const void *resp, size_t size);

/* ------------------------------------------------------- dingo_pd.c, _ah.c */

struct dingo_pd {
	struct ib_pd ibpd;
	u32 pdn;
};

static inline struct dingo_pd *to_dpd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct dingo_pd, ibpd);
}

int dingo_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int dingo_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

/* An address vector, in the formats of struct dingo_qp_attr and wqe_ud. */
struct dingo_av {
	u8 dgid[16];
	u8 dmac[ETH_ALEN];
	u16 sgid_index;
	u32 flow_label;
	u16 udp_sport;
	u8 hop_limit;
	u8 tclass;
	u8 sl;
};

struct dingo_ah {
	struct ib_ah ibah;
	struct dingo_av av;
};

static inline struct dingo_ah *to_dah(struct ib_ah *ibah)
{
	return container_of(ibah, struct dingo_ah, ibah);
}

int dingo_av_init(struct dingo_av *av, const struct rdma_ah_attr *attr,
		  const struct dingo_ucontext *uc, u32 local_qpn,
		  u32 remote_qpn);
int dingo_ah_resolve(struct ib_pd *pd, struct rdma_ah_attr *attr);
int dingo_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata);
int dingo_destroy_ah(struct ib_ah *ibah, u32 flags);
int dingo_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);

/* ----------------------------------------------------- dingo_mr.c, _mw.c */

struct dingo_mr {
	struct ib_mr ibmr;
	struct ib_umem *umem; /* user memory or dma-buf; else NULL */
	struct dingo_pbl pbl;
	u32 access; /* DINGO_ACC_* */
	u32 pdn;
	u64 base; /* address of the first byte; ib_core changes ibmr.iova */

	/* Fast registration: the page list of the next REG_MR. */
	__le64 *frwr_list;
	dma_addr_t frwr_dma;
	u32 frwr_max;
	u32 frwr_pages;

	/* Dynamic dma-buf; under the buffer's reservation lock. */
	struct ib_umem_dmabuf *dmabuf;
	struct delayed_work remap_work;
	unsigned int remap_tries;
	bool on_card;
	bool paused;
	bool dying;
};

struct dingo_mw {
	struct ib_mw ibmw;
};

static inline struct dingo_mr *to_dmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct dingo_mr, ibmr);
}

static inline struct dingo_dev *dingo_mr_dev(const struct dingo_mr *mr)
{
	return to_ddev(mr->ibmr.device);
}

int dingo_key_alloc(struct dingo_ibdev *ib, u32 *key);
void dingo_key_free(struct dingo_ibdev *ib, u32 key);
u32 dingo_access(int ib_access);
int dingo_check_reg(struct ib_device *ibdev, u64 length, u64 iova, int access);

int dingo_mr_pbl(struct dingo_dev *dev, struct ib_umem *umem,
		 struct dingo_pbl *pbl, struct dingo_mem *mem);
void dingo_mr_identify(struct dingo_mr *mr, struct ib_pd *ibpd, u32 key,
		       u64 length, u32 access);
void dingo_mr_command(const struct dingo_mr *mr, u32 key,
		      const struct dingo_mem *mem,
		      struct dingo_cmd_create_mr *cmd);

struct ib_mr *dingo_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *dingo_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, DINGO_DMAH_ARG
				struct ib_udata *udata);
struct ib_mr *dingo_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata);
int dingo_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
struct ib_mr *dingo_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_sg);
int dingo_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		    unsigned int *offset);
struct ib_mr *dingo_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				       u64 length, u64 iova, int fd, int access,
				       DINGO_DMAH_ARG
				       struct uverbs_attr_bundle *attrs);
int dingo_dmabuf_destroy(struct dingo_mr *mr);
int dingo_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int dingo_dealloc_mw(struct ib_mw *ibmw);

/* ------------------------------------------------------------- dingo_cq.c */

struct dingo_qp;

struct dingo_cq {
	struct ib_cq ibcq;
	struct dingo_cq_core core;
	struct dingo_qmem *qmem;
	struct dingo_db db;
	u8 log_size;
	struct mutex resize_lock; /* serializes resize_cq */
	struct work_struct event_work; /* IB_EVENT_CQ_ERR */

	/* Kernel CQs, under lock. */
	spinlock_t lock;
	u32 consumer;
	u32 rung; /* consumer index of the last doorbell */
	u32 arm; /* arm bits for dingo_db_ring_cq() */
	struct list_head kcq_entry; /* dingo_ibdev.kcqs */
	struct list_head send_qps; /* kernel QPs that complete here */
	struct list_head recv_qps;
};

/* Set by software in cqe.flags: the entry's QP was destroyed or reset. */
#define DINGO_CQE_DEAD BIT(7)

static inline bool dingo_cqe_is_recv(u32 qpn_op)
{
	return FIELD_GET(DINGO_CQE_QPN_OP_OPCODE_MASK, qpn_op) >= DINGO_WC_RECV;
}

static inline struct dingo_cq *to_dcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct dingo_cq, ibcq);
}

int dingo_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs);
int dingo_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int dingo_resize_cq(struct ib_cq *ibcq, DINGO_CQE_COUNT cqe,
		    struct ib_udata *udata);
int dingo_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int dingo_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int dingo_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
void dingo_cq_clean(struct dingo_cq *cq, struct dingo_qp *qp);
void dingo_cq_wake_all(struct dingo_ibdev *ib);

/* ------------------------------------------------ dingo_qp.c, dingo_wr.c */

/* Kernel's view of a send queue; indices free-running, in blocks. */
struct dingo_sq {
	spinlock_t lock; /* protects all members */
	u32 producer;
	u32 consumer;
	u64 *wr_id; /* by the WQE's first block */
	u8 *blocks; /* length of the WQE that starts here; 0: none */
	u8 *opcode; /* enum ib_wc_opcode */
};

/* Record of a posted receive. */
struct dingo_receive {
	u64 wr_id;
	u32 bytes; /* room for data; U32_MAX: at least that */
};

/* Kernel's view of a receive queue; indices free-running, in entries. */
struct dingo_rq {
	spinlock_t lock; /* protects all members */
	u32 producer;
	u32 consumer;
	struct dingo_receive *posted;
};

struct dingo_qp {
	struct ib_qp ibqp;
	struct dingo_ucontext *uc; /* NULL: kernel QP */
	u32 qpn;
	enum ib_qp_state state; /* as last set or seen, under mutex */
	struct mutex mutex; /* serializes modify and query; protects groups */
	struct list_head groups; /* multicast */
	bool on_card;
	u8 log_sq;
	u8 log_rq;
	u8 log_rq_stride;
	struct ib_qp_cap cap;
	enum ib_sig_type sig_type;
	struct dingo_qmem *sq_mem;
	struct dingo_qmem *rq_mem; /* NULL with SRQ */
	struct dingo_db sq_db;
	struct dingo_db rq_db;

	unsigned long events; /* bit n: enum ib_event_type n is pending */
	struct work_struct event_work;

	u64 *counter_base; /* values when it was bound; NULL: not bound */
	struct list_head counter_entry; /* dingo_qp_stat.qps */

	/* Kernel QPs. */
	struct dingo_sq sq;
	struct dingo_rq rq;
	struct list_head send_entry; /* dingo_cq.send_qps */
	struct list_head recv_entry; /* dingo_cq.recv_qps */
};

static inline struct dingo_qp *to_dqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct dingo_qp, ibqp);
}

int dingo_check_rq_size(struct dingo_dev *dev, u8 log_size, u8 log_stride,
			u32 max_wr, u32 max_sge);
int dingo_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata);
int dingo_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int dingo_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int dingo_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
void dingo_qp_event(struct dingo_ibdev *ib, u32 qpn, enum ib_event_type event);

/* dingo_compute.c */
int dingo_query_compute(struct dingo_dev *dev, struct ib_udata *udata);
extern const struct uapi_definition dingo_compute_defs[];

/* dingo_mcast.c */
int dingo_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int dingo_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* dingo_kqp.c: the part of a QP that only kernel users have. */
int dingo_kqp_init(struct dingo_qp *qp, struct ib_qp_init_attr *attr);
void dingo_kqp_attach(struct dingo_qp *qp);
void dingo_kqp_detach(struct dingo_qp *qp);
void dingo_kqp_reset(struct dingo_qp *qp);
void dingo_kqp_free(struct dingo_qp *qp);
struct dingo_qp *dingo_kqp_find(struct dingo_cq *cq, struct dingo_qp *last,
				u32 qpn_op);
bool dingo_kqp_complete(struct dingo_qp *qp, const struct dingo_cqe *cqe,
			struct ib_wc *wc);
int dingo_kqp_flush(struct dingo_cq *cq, int num, struct ib_wc *wc);

int dingo_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad);
int dingo_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad);
void dingo_recv_wqe(void *entry, u32 tag, const struct ib_recv_wr *wr,
		    struct dingo_receive *receive);

/* ------------------------------------------------------------ dingo_srq.c */

struct dingo_srq {
	struct ib_srq ibsrq;
	u32 srqn;
	struct dingo_qmem *qmem;
	struct dingo_db db;
	u8 log_size;
	u8 log_stride;
	u32 max_wr;
	u32 max_sge;
	unsigned long events;
	struct work_struct event_work;

	/* Kernel SRQs, under lock. Each receive has a tag; a completed tag
	 * frees its slot and all before it, as the card takes entries in ring
	 * order.
	 */
	spinlock_t lock;
	u32 producer;
	u32 consumer;
	struct dingo_receive *receives; /* by tag */
	u32 *index; /* by tag: ring index while posted, else next free tag */
	unsigned long *posted; /* by tag */
	u32 free_tag; /* head of the free list, or ~0 */
};

static inline struct dingo_srq *to_dsrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct dingo_srq, ibsrq);
}

int dingo_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int dingo_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int dingo_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int dingo_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int dingo_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);
bool dingo_srq_complete(struct dingo_srq *srq, u32 tag,
			struct dingo_receive *receive);
void dingo_srq_event(struct dingo_ibdev *ib, u32 srqn,
		     enum ib_event_type event);

/* --------------------------------------- dingo_gid.c, counters, restrack */

int dingo_gid_init(struct dingo_ibdev *ib);
void dingo_gid_cleanup(struct dingo_ibdev *ib);
int dingo_gid_open(struct dingo_ibdev *ib, struct dingo_ucontext *uc);
void dingo_gid_close(struct dingo_ibdev *ib, struct dingo_ucontext *uc);
bool dingo_gid_is_for(const struct dingo_ucontext *uc,
		      const struct ib_gid_attr *attr);
int dingo_add_gid(const struct ib_gid_attr *attr, void **context);
int dingo_del_gid(const struct ib_gid_attr *attr, void **context);

struct rdma_hw_stats *dingo_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port);
int dingo_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index);
int dingo_counter_bind_qp(struct rdma_counter *counter,
			  struct ib_qp *ibqp DINGO_COUNTER_PORT_ARG);
int dingo_counter_unbind_qp(struct ib_qp *ibqp DINGO_COUNTER_PORT_ARG);
int dingo_counter_dealloc(struct rdma_counter *counter);
struct rdma_hw_stats *dingo_counter_alloc_stats(struct rdma_counter *counter);
int dingo_counter_update_stats(struct rdma_counter *counter);
int dingo_counter_take_off(struct dingo_ibdev *ib, u64 *values);
int dingo_process_mad(struct ib_device *ibdev, int flags, u32 port,
		      const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		      const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index);

int dingo_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int dingo_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int dingo_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int dingo_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp);
int dingo_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);

/* dingo_query.c: device and port attributes. */
int dingo_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		       struct ib_udata *udata);
int dingo_modify_device(struct ib_device *ibdev, int mask,
			struct ib_device_modify *modify);
int dingo_query_port(struct ib_device *ibdev, u32 port,
		     struct ib_port_attr *attr);
int dingo_modify_port(struct ib_device *ibdev, u32 port, int mask,
		      struct ib_port_modify *modify);
int dingo_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int dingo_get_port_immutable(struct ib_device *ibdev, u32 port,
			     struct ib_port_immutable *immutable);
enum rdma_link_layer dingo_get_link_layer(struct ib_device *ibdev, u32 port);
void dingo_get_dev_fw_str(struct ib_device *ibdev, char *str);
extern const struct attribute_group dingo_attr_group;

#endif
