/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The direct road: the provider itself carries out RDMA WRITE, READ, SEND and atomics between
 * programs of one host (docs/reference/direct.md). All other requests, and all that must fail, go
 * to the card.
 */
#ifndef DINGO_DIRECT_H
#define DINGO_DIRECT_H

#include <time.h>

#include "dingo.h"

/* A completion of a send that the provider itself carried out; no card has written it. */
struct dingo_direct_entry {
	struct dingo_cqe cqe;
	uint64_t wr_id;
	struct dingo_qp *qp;		/* NULL: it was destroyed or reset */
	uint32_t after;			/* SQ index: the card's completions before it come first */
	uint32_t upto;			/* SQ index: WQEs before it are done once this is polled */
	uint32_t used;			/* `used` of struct dingo_direct at that time */
	uint8_t opcode;			/* enum ibv_wc_opcode */
};

#define DINGO_DIRECT_ENTRIES 1024
/* Most QPs of a CQ whose receives peers may complete: each poll looks at all of them. */
#define DINGO_DIRECT_RECEIVERS 16

/* Direct completions of a CQ: those that no card has written.
 * They come before those of the ring.
 */
struct dingo_cq_direct {
	struct dingo_lock lock;		/* held while adding an entry or a receiver */
	_Atomic(uint32_t) tail;
	_Atomic(uint32_t) head;		/* under the CQ's lock */
	_Atomic(uint32_t) posters;	/* threads between begin_post() and end_post() */
	_Atomic(bool) armed;		/* an event is wanted, which only cards can send */
	uint32_t arms;			/* under the CQ's lock: events that may still come */
	uint32_t armed_at;		/* ring index of the first entry after the last arming */
	bool any;			/* the last arming was for any completion */
	bool receives;			/* under the CQ's lock: the last turn was a receive's */
	bool marked;			/* under the CQ's lock: the ring waits since entry `mark` */
	uint32_t mark;
	struct dingo_direct_entry current; /* extended polling */
	struct dingo_cqe received;	/* completion made for a receive that a peer completed */
	/* added under `lock`; removed under `lock` and the CQ's lock */
	struct dingo_qp *receivers[DINGO_DIRECT_RECEIVERS];
	_Atomic(uint32_t) num_receivers;
	uint32_t next_receiver;
	struct dingo_direct_entry entries[DINGO_DIRECT_ENTRIES];
};

struct dingo_direct_side;

/* Cached result of the last lookup of a region, local or remote. */
struct dingo_direct_known {
	uint32_t key;
	uint32_t seq;			/* 0: none */
	uint32_t moves;			/* dingo_direct_moves at that time */
	uint32_t access;
	uint64_t iova;
	uint64_t length;
	uint8_t *at;
};

#define DINGO_DIRECT_KNOWN 16

/* The direct road of one QP. Protected by its SQ's lock. */
struct dingo_direct {
	bool linked;
	uint32_t tries;
	uint32_t wait;			/* posts until the next try; 0: no further try */
	_Atomic(bool) told;		/* the card knows of all receives of this generation */
	/* Copies of page fields that the peer can also write, once linked. */
	bool has_rq;			/* the peer may complete receives */
	bool has_indexes;
	_Atomic(uint32_t) receives_end;	/* index after the last posted receive */
	struct dingo_direct_page *own;
	uint64_t own_offset;		/* for mmap() */
	size_t own_bytes;
	uint32_t generation;
	struct dingo_direct_page *peer;
	size_t peer_bytes;
	uint32_t peer_generation;
	uint8_t *peer_rq;		/* NULL: SENDs go to the card */
	size_t peer_rq_bytes;
	uint32_t peer_rq_mask;
	uint8_t peer_rq_log_stride;
	uint32_t busy;			/* as last written to the peer's page */
	uint32_t posted;		/* rq_producer of the peer, as last read */
	uint32_t signaled;		/* end of the last signaled WQE given to the card */
	uint32_t used;			/* total SQ blocks of direct requests */
	_Atomic(uint32_t) freed;	/* part of `used` that polled completions have freed */
	uint32_t consumer;		/* consumer of the SQ, as last read */
	uint32_t waits;			/* value for `skip` after a timeout; doubles each time */
	uint32_t skip;			/* requests that do not wait for the card to drain */
	bool impatient;			/* the last SEND timed out waiting for a receive */
	struct dingo_direct_side *here;
	struct dingo_direct_side *there;
	struct dingo_cq_direct *cq;	/* that of the send CQ */
	struct dingo_direct_known local[DINGO_DIRECT_KNOWN];
	struct dingo_direct_known remote[DINGO_DIRECT_KNOWN];
	uint8_t claim[24];
	char path[104];			/* socket of the peer's card */
};

/* direct_link.c */
/* Sets ctx->direct if the card has the direct road and DINGO_DIRECT does not disable it. */
void dingo_direct_start(struct dingo_context *ctx);
void dingo_direct_stop(struct dingo_context *ctx);
/* Called before the QP leaves RTR or RTS: closes the direct road in both directions. */
void dingo_direct_leave(struct dingo_qp *qp);
/* Called in RESET: discards receives that peers have completed. */
void dingo_direct_reset(struct dingo_qp *qp);
/* Called before and after the QP is destroyed; `destroyed` is false if that failed. */
void dingo_direct_begin_destroy(struct dingo_qp *qp);
void dingo_direct_end_destroy(struct dingo_qp *qp, bool destroyed);
/* Called after a change of the QP's state or access rights: opens
 * the direct road in RTR and RTS.
 */
void dingo_direct_enter(struct dingo_qp *qp, enum ibv_qp_state state);
/* Sets up cq->direct of a new CQ if the context has the direct road. Returns 0 or ENOMEM. */
int dingo_direct_init_cq(struct dingo_cq *cq);
/* Unlinks a peer whose page was closed and schedules another try.
 * The caller holds the SQ's lock.
 */
void dingo_direct_lost(struct dingo_qp *qp);
/* Tries to link to the peer. The caller holds the SQ's lock. */
void dingo_direct_try(struct dingo_qp *qp);

/* direct_side.c */
/* A context, own or peer, as the direct road sees it: its directory of regions and their memory. */
struct dingo_direct_side {
	struct dingo_direct_side *next;
	unsigned int users;
	struct dingo_direct_card *card;
	uint32_t context;
	struct dingo_direct_directory *directory;
	size_t directory_bytes;
	uint32_t num_regions;
	const _Atomic(uint32_t) *status; /* of the card */
	void *status_page;		/* ours to unmap */
	pthread_mutex_t mutex;		/* protects files and pieces */
	uint64_t not_before;		/* next request for a file, CLOCK_MONOTONIC in ns */
	bool own;			/* a context of this process */
	struct dingo_direct_file {
		uint32_t number;
		int fd;
	} files[8];
	unsigned int num_files;
	struct dingo_direct_piece *pieces[256];
	unsigned int num_pieces;
};
/* Returns the process-wide connection to a card with one more user; NULL if out of memory. */
struct dingo_direct_card *dingo_direct_get_card(const char *path);
void dingo_direct_put_card(struct dingo_direct_card *card);
/* Sends a request of protocol.h and waits for the reply. Returns 0 with `num_fds` descriptors, or
 * an errno value without any.
 */
struct dingo_uverbs_request;
struct dingo_uverbs_reply;
int dingo_direct_ask(struct dingo_direct_card *card,
		     struct dingo_uverbs_request *head, const void *payload,
		     struct dingo_uverbs_reply *reply, int *fds,
		     unsigned int num_fds);
/*
 * Creates the side of this context; `directory` is the mmap() offset. Returns NULL if it cannot be
 * mapped.
 */
struct dingo_direct_side *dingo_direct_own_side(struct dingo_context *ctx,
						const char *path,
						uint32_t context,
						uint64_t directory, size_t bytes);
/* Returns the side of a peer's context with one more user, mapped from the files `directory` and
 * `status`; NULL if it cannot be mapped.
 */
struct dingo_direct_side *dingo_direct_get_side(struct dingo_direct_card *card,
						uint32_t context, int directory,
						int status);
void dingo_direct_put_side(struct dingo_direct_side *side);
/* Maps `bytes` of a file, not inherited by fork(). Returns NULL on failure. */
void *dingo_direct_map(int fd, uint64_t offset, size_t bytes, int prot);
/* Like dingo_direct_map(), for a file received from a card. Also returns NULL if the file is
 * shorter, or not sealed against shrinking.
 */
void *dingo_direct_map_foreign(int fd, uint64_t offset, size_t bytes, int prot);
/* Looks a region up in the directory of `side` and fills in `known`. Returns false if there is no
 * such region or its memory cannot be mapped.
 */
bool dingo_direct_look_up(struct dingo_direct_side *side, uint32_t pdn,
			  uint32_t key, struct dingo_direct_known *known);

/* direct_local.c: addresses of the regions that this process has registered */
/* Records that the process has registered `length` bytes at `addr`; or has deregistered them. */
void dingo_direct_registered(struct dingo_context *ctx, uint32_t key, void *addr,
			     size_t length, uint64_t iova);
void dingo_direct_deregistered(struct dingo_context *ctx, uint32_t key);
void dingo_direct_forget_locals(const struct dingo_direct_side *side);
/* Returns the address of a region that this process registered; NULL if another process did, or the
 * program has unmapped or moved it since.
 */
struct dingo_direct_region;
uint8_t *dingo_direct_own_memory(const struct dingo_direct_side *side,
				 const struct dingo_direct_region *region);
/* Counts how often the program has unmapped, moved or protected memory of its regions. */
extern _Atomic(uint32_t) dingo_direct_moves;

/* direct.c: moving data */
/* Carries out the WQE at index `start`, the last before the producer, and removes it from the ring.
 * Returns false if the card has to do it. `rung`: index up to which the doorbell was rung.
 */
bool dingo_direct_take(struct dingo_qp *qp, uint32_t start, uint32_t rung);

/* direct_cq.c: completions */
/* Returns true if a signaled request may complete directly: there is room, and the CQ is not armed.
 * The caller may then add the completion of the WQE at `start`, and must call
 * dingo_direct_end_post().
 */
bool dingo_direct_begin_post(struct dingo_cq_direct *c);
void dingo_direct_end_post(struct dingo_cq_direct *c);
void dingo_direct_add_entry(struct dingo_cq_direct *c, struct dingo_qp *qp,
			    uint32_t start, uint32_t bytes);
/* Consumes the next completion of a CQ with direct completions. Returns one written by the card, or
 * made for a receive that a peer completed; or stores a direct send's in `entry`. NULL in both:
 * none. Valid until the next call. The caller holds the CQ's lock.
 */
const struct dingo_cqe *
dingo_direct_next_of_all(struct dingo_cq *cq,
			 const struct dingo_direct_entry **entry);
/* Number of unpolled direct completions, sends and receives. The caller holds the CQ's lock. */
uint32_t dingo_direct_waiting(const struct dingo_cq *cq);
void dingo_direct_fill(struct ibv_wc *wc, const struct dingo_direct_entry *entry);
/* Returns true if the QP's receive `index` has been posted: what the peer writes is not trusted. */
static inline bool dingo_direct_has_receive(const struct dingo_qp *qp, uint32_t index)
{
	return (int32_t)(atomic_load_explicit(&qp->direct->receives_end,
					      memory_order_relaxed) - index) > 0;
}
/* Notes that receive `index` is settled, whose record may come from an earlier pass of the ring. */
void dingo_direct_settled(struct dingo_qp *qp, uint32_t index);
/* Publishes newly posted receives in the page. Returns true if the card need not be told of them.
 * The caller holds the RQ's lock.
 */
bool dingo_direct_posted(struct dingo_qp *qp);
/* Called before the CQ is armed: from now on posters leave requests to the card. */
void dingo_direct_arm(struct dingo_cq *cq);
/* Called when an event of the CQ has been read. */
void dingo_direct_event(struct dingo_cq *cq);
void dingo_direct_forget_qp(struct dingo_cq *cq, struct dingo_qp *qp);
/* Closes the QP's page for direct requests and tells the card of all receives. */
void dingo_direct_failed(struct dingo_qp *qp);

/* Reads a word that another process writes. */
static inline uint32_t dingo_load_shared(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void dingo_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Prefetches a cache line for writing, from another processor's cache. */
static inline void dingo_prefetch_to_write(const void *at)
{
#if defined(__x86_64__) || defined(__i386__)
	/* A no-op on processors without it. Inline assembly, as
	 * compilers omit it for old targets.
	 */
	__asm__ __volatile__("prefetchw %0" : : "m"(*(const char *)at));
#else
	__builtin_prefetch(at, 1);
#endif
}

static inline uint64_t dingo_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Full barrier: later loads follow earlier stores. On x86 the preceding atomic exchange is one. */
static inline void dingo_full_fence(void)
{
#if !defined(__x86_64__)
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

#endif
