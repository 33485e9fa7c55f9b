/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * What dingo.ko and the dingo provider tell each other: driver data of uverbs
 * commands, attributes and methods of their own. Rings and doorbells themselves:
 * the contract, dingo_hw.h.
 *
 * Rules: request bytes that a kernel does not know must be zero; a response may
 * be shorter than the structure, missing bytes count as zero; comp_mask is zero
 * but for the bits that are defined here. Offsets named *_mmap go to mmap() on the
 * command descriptor.
 */
#ifndef DINGO_ABI_H
#define DINGO_ABI_H

#include <linux/types.h>

#define DINGO_UVERBS_ABI_VERSION 1

/* How a process wakes a sleeping card (contract: doorbell page). */
enum dingo_kick_mode {
	DINGO_KICK_NONE = 0,	/* doorbells are enough: no DB_MEMORY */
	DINGO_KICK_MMIO = 1,	/* write any u32 to the page at kick_mmap */
	DINGO_KICK_FD = 2,	/* write a u64 1 to the eventfd kick_fd */
};

/* Bits of dingo_alloc_ucontext_resp.comp_mask. */
#define DINGO_UCONTEXT_STATUS 1U	/* status_mmap is there */
#define DINGO_UCONTEXT_CLOCK 2U		/* the status page has a dingo_clock_page */
#define DINGO_UCONTEXT_DM 4U		/* device memory can be allocated */

/* The status page is read-only; its first u32 has this bit once the card is
 * gone for good: then nothing completes any more (FUTEX_OWNER_DIED of
 * linux/futex.h, so that a kernel sets it for a card process that was killed).
 */
#define DINGO_STATUS_GONE 0x40000000U

/* The u32 at this offset of the status page is not 0 while the card is a
 * process that has to wait for a processor: a caller whose poll finds nothing
 * should then yield.
 */
#define DINGO_STATUS_CROWDED_OFFSET 64

/* With DINGO_UCONTEXT_CLOCK, a struct dingo_clock_page at this offset of the
 * status page: CLOCK_REALTIME at one value of register CLOCK, the clock of time
 * stamps. Both run at the same rate from then on. The pair is measured again
 * about every second and after the machine's time was set. A reader takes a
 * pair whose sequence was even, and the same before and after.
 */
#define DINGO_STATUS_CLOCK_OFFSET 128

struct dingo_clock_page {
	__u32 sequence;		/* odd while it is written; 0: never was */
	__u32 error_ns;		/* the pair is as exact as this */
	__aligned_u64 card_ns;	/* CLOCK */
	__aligned_u64 real_ns;	/* CLOCK_REALTIME, ns since 1970 */
};

struct dingo_alloc_ucontext_req {
	__u32 comp_mask;
	__u32 kick_modes;	/* bit n: the provider can do dingo_kick_mode n */
};

struct dingo_alloc_ucontext_resp {
	__u32 comp_mask;
	__u32 kick_mode;	/* enum dingo_kick_mode */
	__aligned_u64 caps;	/* register CAPS, DINGO_CAP_* */
	__aligned_u64 kick_mmap; /* one page; with DINGO_KICK_MMIO */
	__u32 max_inline;	/* bytes, RC and UC */
	__u8 log_max_sq;	/* blocks */
	__u8 log_max_rq;	/* entries */
	__u8 log_max_cq;	/* entries */
	__u8 reserved;
	__s32 kick_fd;		/* with DINGO_KICK_FD; the provider closes it */
	__u32 reserved2;
	__aligned_u64 status_mmap; /* one page; with DINGO_UCONTEXT_STATUS */
};

/* Attributes and methods of our own in the uverbs ioctl: the numbers from
 * 1 << UVERBS_ID_NS_SHIFT are the driver's. The answer to
 * UVERBS_METHOD_QUERY_CONTEXT is struct dingo_alloc_ucontext_resp of a context
 * that exists, for who imports it; its kick_fd is the importer's own.
 */
enum {
	DINGO_ATTR_QUERY_CONTEXT_RESP = 0x1000,
};

/* Of UVERBS_OBJECT_PD: which PD a handle is. */
enum {
	DINGO_METHOD_PD_QUERY = 0x1000,
};

enum {
	DINGO_ATTR_PD_QUERY_HANDLE = 0x1000,
	DINGO_ATTR_PD_QUERY_RESP_PDN = 0x1001, /* out: __u32 */
};

/* Of UVERBS_METHOD_DM_ALLOC, out: struct dingo_dm_resp. */
enum {
	DINGO_ATTR_ALLOC_DM_RESP = 0x1000,
};

/* Of UVERBS_OBJECT_DM: what DM_ALLOC answered, for who imports it. */
enum {
	DINGO_METHOD_DM_QUERY = 0x1000,
};

enum {
	DINGO_ATTR_DM_QUERY_HANDLE = 0x1000,
	DINGO_ATTR_DM_QUERY_RESP = 0x1001, /* out: struct dingo_dm_resp */
};

struct dingo_dm_resp {
	__aligned_u64 dm_mmap;
	__aligned_u64 map_bytes;	/* multiple of the page size */
	__aligned_u64 length;		/* as asked for */
};

struct dingo_alloc_pd_resp {
	__u32 comp_mask;
	__u32 pdn;
};

/* Where a ring is, and its doorbell: 8-byte slot db_slot of the page at db_mmap.
 * Rings of one context often share a page, that is, an offset.
 */
struct dingo_ring_map {
	__aligned_u64 ring_mmap;
	__aligned_u64 ring_bytes;	/* multiple of the page size; 0: no ring */
	__aligned_u64 db_mmap;
	__u32 db_slot;
	__u8 log_size;		/* log2 of blocks (SQ) or entries */
	__u8 log_stride;	/* log2 of bytes per block or entry */
	__u16 reserved;
};

/* Bit of dingo_create_cq_req.comp_mask and dingo_create_qp_req.comp_mask, with
 * DINGO_CAP_DB_WATCH: the doorbell of the CQ, or of the SQ, is watched (contract,
 * register DB_WATCH). Its writer stores the slot and does no more; the slot is
 * in a page that has such slots and receive queues of such QPs alone. A driver
 * that has no watched slots refuses the bit with EOPNOTSUPP.
 */
#define DINGO_CREATE_WATCHED 1U

struct dingo_create_cq_req {
	__u32 comp_mask;
	__u32 reserved;
};

/* The kernel makes ibcq.cqe = entries - entries / 4 usable: the provider rings
 * the consumer doorbell at least every entries / 4 completions polled, and with
 * every arming.
 */
struct dingo_create_cq_resp {
	__u32 comp_mask;
	__u32 cqn;
	struct dingo_ring_map ring;
};

/* The provider takes what it has not polled out of the old ring before it
 * resizes again: the old ring may go then.
 */
struct dingo_resize_cq_resp {
	__u32 comp_mask;
	__u32 switch_index;	/* the old ring holds entries up to this index */
	struct dingo_ring_map ring; /* new ring: index 0, phase 1; doorbell as before */
};

struct dingo_create_qp_req {
	__u32 comp_mask;
	__u8 log_sq;		/* blocks, as the provider computed them */
	__u8 log_rq;		/* entries; 0 with SRQ */
	__u8 log_rq_stride;	/* bytes; 0 with SRQ */
	__u8 reserved;
};

struct dingo_create_qp_resp {
	__u32 comp_mask;
	__u32 reserved;
	struct dingo_ring_map sq;
	struct dingo_ring_map rq;
	__aligned_u64 push_mmap; /* push page of the SQ's doorbell page, to be
				  * written only; 0: there is none
				  */
};

/* Of UVERBS_OBJECT_QP: chooses the compute kernel of one direction. */
enum {
	DINGO_METHOD_QP_SET_COMPUTE = 0x1000,
};

enum {
	DINGO_ATTR_QP_SET_COMPUTE_HANDLE = 0x1000,
	/* in: struct dingo_set_compute_req; 0x1001 is UVERBS_ATTR_UHW_OUT */
	DINGO_ATTR_QP_SET_COMPUTE_REQ = 0x1002,
};

/* The direct road, which only cards without a kernel driver have
 * (hw/host/uverbs/direct_abi.h).
 */
enum {
	DINGO_METHOD_DEVICE_DIRECT = 0x1000,
};

enum {
	DINGO_ATTR_DEVICE_DIRECT_RESP = 0x1000, /* out: struct dingo_device_direct_resp */
};

enum {
	DINGO_METHOD_QP_DIRECT = 0x1001,
};

enum {
	DINGO_ATTR_QP_DIRECT_HANDLE = 0x1000,
	/* out: struct dingo_qp_direct_resp; 0x1001 is UVERBS_ATTR_UHW_OUT */
	DINGO_ATTR_QP_DIRECT_RESP = 0x1002,
	/* in: __u32: 0 makes the page; 1 opens it: the caller has mapped it,
	 * and writes where receives are posted there
	 */
	DINGO_ATTR_QP_DIRECT_OPEN = 0x1003,
};

/* What the regions of the context are, from now on. */
struct dingo_device_direct_resp {
	__u32 comp_mask;	/* 0 */
	__u32 context;		/* its number on the card */
	__aligned_u64 directory_mmap;
	__aligned_u64 directory_bytes;
	__u8 card[104];		/* path of the card's own socket */
};

/* The page of a connected QP. Once open the QP takes direct requests. */
struct dingo_qp_direct_resp {
	__u32 comp_mask;	/* 0 */
	__u32 generation;
	__aligned_u64 page_mmap;
	__aligned_u64 page_bytes;
	__u8 claim[24];		/* struct dingo_direct_claim */
	__u8 peer[104];		/* path of the socket where the claim goes */
};

struct dingo_set_compute_req {
	__u32 comp_mask;	/* 0 */
	__u32 direction;	/* DINGO_COMPUTE_SEND, DINGO_COMPUTE_RECEIVE */
	__u32 kernel;		/* DINGO_KERNEL_* */
	__u32 param;		/* by kernel */
};

struct dingo_compute_kernel {
	__u8 name[16];		/* filled with 0; a name of 16 letters has none */
	__u32 id;
	__u32 smallest_param;	/* 0: takes none */
	__u32 largest_param;
	__u32 record;		/* bytes */
};

#define DINGO_MAX_KERNELS 16

/* The driver's part of the extended QUERY_DEVICE. */
struct dingo_query_device_resp {
	__u32 comp_mask;
	__u32 num_kernels;	/* 0: no compute slot */
	struct dingo_compute_kernel kernels[DINGO_MAX_KERNELS];
};

struct dingo_create_srq_req {
	__u32 comp_mask;
	__u8 log_size;		/* entries */
	__u8 log_stride;	/* bytes */
	__u16 reserved;
};

struct dingo_create_srq_resp {
	__u32 comp_mask;
	__u32 srqn;
	struct dingo_ring_map ring;
};

struct dingo_create_ah_resp {
	__u32 comp_mask;
	__u8 dmac[6];		/* next hop, resolved by the kernel */
	__u16 udp_sport;
	__u32 reserved;
};

#endif
