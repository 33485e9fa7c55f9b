/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The direct road: RDMA WRITE, READ and SEND between programs of one host without their cards
 * (docs/reference/direct.md). What cannot go this way goes by the card, which also finds all errors.
 */
#ifndef DINGO_DIRECT_H
#define DINGO_DIRECT_H

#include <time.h>

#include "dingo.h"

/* A completion that no card has written. */
struct dingo_direct_entry {
	struct dingo_cqe cqe;
	uint64_t wr_id;
	struct dingo_qp *qp;		/* NULL: it is gone */
	uint32_t after;			/* index of the SQ up to which the card's completions come first */
	uint32_t upto;			/* ... up to which all is over with this one */
	uint32_t used;			/* of struct dingo_direct, then */
	uint8_t opcode;			/* enum ibv_wc_opcode */
};

#define DINGO_DIRECT_ENTRIES 1024
/* QPs of a CQ that are looked at with each poll. */
#define DINGO_DIRECT_RECEIVERS 16

/* Completions of a CQ that no card has written: they come before the ring's. */
struct dingo_cq_direct {
	struct dingo_lock lock;		/* held by a thread that adds */
	_Atomic(uint32_t) tail;
	_Atomic(uint32_t) head;		/* under the CQ's lock */
	_Atomic(uint32_t) posters;	/* threads that are about to add, or look at `armed` */
	_Atomic(bool) armed;		/* an event is asked for: only cards send them */
	uint32_t arms;			/* under the CQ's lock: events that may come */
	uint32_t armed_at;		/* an entry of this index has come after the last arming */
	bool any;			/* it was for any completion */
	bool receives;			/* under the CQ's lock: they had the last turn */
	bool marked;			/* under the CQ's lock: the ring has waited since the entry `mark` */
	uint32_t mark;
	struct dingo_direct_entry current; /* extended polling */
	struct dingo_cqe received;	/* a receive that a peer has completed */
	/* added under `lock`, removed under the CQ's lock, too */
	struct dingo_qp *receivers[DINGO_DIRECT_RECEIVERS];
	_Atomic(uint32_t) num_receivers;
	uint32_t next_receiver;
	struct dingo_direct_entry entries[DINGO_DIRECT_ENTRIES];
};

struct dingo_direct_side;

/* A region of one of the two sides, as last looked up. */
struct dingo_direct_known {
	uint32_t key;
	uint32_t seq;			/* 0: none */
	uint32_t moves;			/* dingo_direct_moves then */
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
	uint32_t wait;			/* posts until the next try */
	_Atomic(bool) told;		/* the card has heard of all receives, in this generation */
	/* What the page says of these is the peer's, too, once it is linked. */
	bool has_rq;			/* the peer may complete receives */
	bool has_indexes;
	_Atomic(uint32_t) receives_end;	/* behind the last posted receive */
	struct dingo_direct_page *own;
	uint64_t own_offset;		/* for mmap() */
	size_t own_bytes;
	uint32_t generation;
	struct dingo_direct_page *peer;
	size_t peer_bytes;
	uint32_t peer_generation;
	uint8_t *peer_rq;		/* NULL: SENDs go by the card */
	size_t peer_rq_bytes;
	uint32_t peer_rq_mask;
	uint8_t peer_rq_log_stride;
	uint32_t busy;			/* as last written to the peer's page */
	uint32_t posted;		/* receives there, as last seen */
	uint32_t signaled;		/* end of the last signaled WQE that the card has got */
	uint32_t used;			/* blocks of the SQ that direct requests have taken */
	_Atomic(uint32_t) freed;	/* of these, what was given back: a completion of them, or after them, was polled */
	uint32_t consumer;		/* the SQ's, as last seen */
	uint32_t waits;			/* requests that skip the next wait for the card; doubles when one times out */
	uint32_t skip;			/* requests that do not wait for it */
	bool impatient;			/* the last SEND found no receive in time */
	struct dingo_direct_side *here;
	struct dingo_direct_side *there;
	struct dingo_cq_direct *cq;	/* the send CQ's */
	struct dingo_direct_known local[DINGO_DIRECT_KNOWN];
	struct dingo_direct_known remote[DINGO_DIRECT_KNOWN];
	uint8_t claim[24];
	char path[104];			/* socket of the peer's card */
};

/* direct_link.c */
/* Asks the card whether it has the direct road, where the environment wants it. */
void dingo_direct_start(struct dingo_context *ctx);
void dingo_direct_stop(struct dingo_context *ctx);
/* Before the QP leaves RTR or RTS: nothing goes the direct road any more. */
void dingo_direct_leave(struct dingo_qp *qp);
/* Called in RESET: forgets what peers have completed. */
void dingo_direct_reset(struct dingo_qp *qp);
/* Before and after the QP is destroyed; `destroyed` false: it was not. */
void dingo_direct_begin_destroy(struct dingo_qp *qp);
void dingo_direct_end_destroy(struct dingo_qp *qp, bool destroyed);
/* After a change of the QP's state or rights. */
void dingo_direct_enter(struct dingo_qp *qp, enum ibv_qp_state state);
/* For a new CQ of a context with the direct road. Returns 0 or ENOMEM. */
int dingo_direct_init_cq(struct dingo_cq *cq);
/* The peer's page is closed: looks for another one later. The caller holds the SQ's lock. */
void dingo_direct_lost(struct dingo_qp *qp);
/* A try to find the peer; the caller holds the SQ's lock. */
void dingo_direct_try(struct dingo_qp *qp);

/* direct_side.c */
/* What is known of a context, ours or a peer's: a directory of regions, and their memory. */
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
	pthread_mutex_t mutex;		/* files and pieces */
	uint64_t not_before;		/* a file could not be had: of CLOCK_MONOTONIC in ns */
	bool own;			/* of a context of this process */
	struct dingo_direct_file {
		uint32_t number;
		int fd;
	} files[8];
	unsigned int num_files;
	struct dingo_direct_piece *pieces[256];
	unsigned int num_pieces;
};
/* A connection to a card, shared by the process, with one more user. */
struct dingo_direct_card *dingo_direct_get_card(const char *path);
void dingo_direct_put_card(struct dingo_direct_card *card);
/* A request of protocol.h. Returns 0, or an errno; then no descriptors came. */
struct dingo_uverbs_request;
struct dingo_uverbs_reply;
int dingo_direct_ask(struct dingo_direct_card *card,
		     struct dingo_uverbs_request *head, const void *payload,
		     struct dingo_uverbs_reply *reply, int *fds,
		     unsigned int num_fds);
/*
 * The side of this context itself; `directory` is its offset for mmap(). NULL: it cannot be mapped.
 */
struct dingo_direct_side *dingo_direct_own_side(struct dingo_context *ctx,
						const char *path,
						uint32_t context,
						uint64_t directory, size_t bytes);
/* With one more user. `directory` and `status` are its files; NULL: it cannot be mapped. */
struct dingo_direct_side *dingo_direct_get_side(struct dingo_direct_card *card,
						uint32_t context, int directory,
						int status);
void dingo_direct_put_side(struct dingo_direct_side *side);
/* Maps `bytes` of a file, not for children; NULL: it does not go. */
void *dingo_direct_map(int fd, uint64_t offset, size_t bytes, int prot);
/* Likewise, of a file that came from a card. NULL: it has less, or might have less later. */
void *dingo_direct_map_foreign(int fd, uint64_t offset, size_t bytes, int prot);
/* Looks a region up in the directory of `side`. False: there is none, or nothing of it is in a file. */
bool dingo_direct_look_up(struct dingo_direct_side *side, uint32_t pdn,
			  uint32_t key, struct dingo_direct_known *known);

/* direct_local.c: regions where this process has them */
/* The process has registered `length` bytes at `addr`, or has deregistered them. */
void dingo_direct_registered(struct dingo_context *ctx, uint32_t key, void *addr,
			     size_t length, uint64_t iova);
void dingo_direct_deregistered(struct dingo_context *ctx, uint32_t key);
void dingo_direct_forget_locals(const struct dingo_direct_side *side);
/* Where the process has its region; NULL: it has not, or another one has registered it. */
struct dingo_direct_region;
uint8_t *dingo_direct_own_memory(const struct dingo_direct_side *side,
				 const struct dingo_direct_region *region);
/* How often the program has unmapped, moved or protected memory of its regions. */
extern _Atomic(uint32_t) dingo_direct_moves;

/* direct.c: moving data */
/* Carries out the WQE of index `start`, the last before the producer, and takes it out of the ring. False:
 * the card has to. The card has been told of all before the index `rung`.
 */
bool dingo_direct_take(struct dingo_qp *qp, uint32_t start, uint32_t rung);

/* direct_cq.c: completions */
/* Whether a signaled request may complete directly: there is room, and nobody waits for an event. Then it ends with
 * dingo_direct_end_post(), and before that may add its completion: it was the SQ's at `start`.
 */
bool dingo_direct_begin_post(struct dingo_cq_direct *c);
void dingo_direct_end_post(struct dingo_cq_direct *c);
void dingo_direct_add_entry(struct dingo_cq_direct *c, struct dingo_qp *qp,
			    uint32_t start, uint32_t bytes);
/* For a CQ with direct completions: the next of the card's, consumed, or of a receive that a peer has completed; or, in
 * `entry`, the next of those that no card has written. NULL: none. What it gives is valid until the next
 * call. Under the CQ's lock.
 */
const struct dingo_cqe *
dingo_direct_next_of_all(struct dingo_cq *cq,
			 const struct dingo_direct_entry **entry);
/* Completions of either kind that have not been polled. Under the CQ's lock. */
uint32_t dingo_direct_waiting(const struct dingo_cq *cq);
void dingo_direct_fill(struct ibv_wc *wc, const struct dingo_direct_entry *entry);
/* Whether the QP's receive `index` has been posted: a peer may say what it likes. */
static inline bool dingo_direct_has_receive(const struct dingo_qp *qp, uint32_t index)
{
	return (int32_t)(atomic_load_explicit(&qp->direct->receives_end,
					      memory_order_relaxed) - index) > 0;
}
/* Receives were posted; false: the card has to hear of it. Under the RQ's lock. */
bool dingo_direct_posted(struct dingo_qp *qp);
/* Called before the CQ is armed: posters see that from now on. */
void dingo_direct_arm(struct dingo_cq *cq);
/* An event has been read. */
void dingo_direct_event(struct dingo_cq *cq);
void dingo_direct_forget_qp(struct dingo_cq *cq, struct dingo_qp *qp);
/* The QP, which has a page, takes no direct requests any more, and its card hears of all receives. */
void dingo_direct_failed(struct dingo_qp *qp);

/* Words that another process writes. */
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

/* Takes a line from another processor's cache that is about to be written. */
static inline void dingo_prefetch_to_write(const void *at)
{
#if defined(__x86_64__) || defined(__i386__)
	/* a no-op where the processor has none; compilers leave it out for the oldest ones */
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

/* What follows is read after what precedes has been seen. On x86 the exchange before it does that. */
static inline void dingo_full_fence(void)
{
#if !defined(__x86_64__)
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

#endif
