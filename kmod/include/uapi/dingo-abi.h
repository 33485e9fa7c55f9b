/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * ABI between dingo_ib.ko and the dingo provider: driver data of uverbs
 * commands, and driver-specific attributes and methods. Layouts of rings and
 * doorbells: the contract, dingo_hw.h.
 *
 * Rules: request bytes that a kernel does not know must be zero; a response may
 * be shorter than the structure, missing bytes count as zero; comp_mask is zero
 * except for the bits defined here. Offsets named *_mmap are for mmap() on the
 * command descriptor.
 */
#ifndef DINGO_ABI_H
#define DINGO_ABI_H

#include <linux/types.h>

#define DINGO_UVERBS_ABI_VERSION 1

/* Most work requests of a queue of a QP, whatever the card's limits. */
#define DINGO_MAX_QP_WR 8192

/* How a process wakes a sleeping card (contract: doorbell page). */
enum dingo_kick_mode {
	DINGO_KICK_NONE = 0,	/* not needed: no DB_MEMORY */
	DINGO_KICK_MMIO = 1,	/* write any u32 to the page at kick_mmap */
	DINGO_KICK_FD = 2,	/* write a u64 1 to the eventfd kick_fd */
};

/* Bits of dingo_alloc_ucontext_resp.comp_mask. */
#define DINGO_UCONTEXT_STATUS 1U	/* status_mmap is valid */
#define DINGO_UCONTEXT_CLOCK 2U		/* the status page has a dingo_clock_page */
#define DINGO_UCONTEXT_DM 4U		/* device memory can be allocated */

/* Bit of the first u32 of the read-only status page: the card is gone for good
 * and nothing completes any more. It is FUTEX_OWNER_DIED of linux/futex.h, so
 * that the kernel sets it if the card's process is killed.
 */
#define DINGO_STATUS_GONE 0x40000000U

/* The u32 at this offset of the status page is not 0 while the card, a process,
 * waits for a processor: a caller whose poll finds nothing should then yield.
 */
#define DINGO_STATUS_CROWDED_OFFSET 64

/* With DINGO_UCONTEXT_CLOCK, a struct dingo_clock_page at this offset of the
 * status page: CLOCK_REALTIME at one value of register CLOCK, the clock of time
 * stamps. Both then run at the same rate. The pair is measured again about
 * every second and after the machine's time was set. A pair is valid if
 * sequence was even, and the same before and after reading it.
 */
#define DINGO_STATUS_CLOCK_OFFSET 128

struct dingo_clock_page {
	__u32 sequence;		/* odd while it is written; 0: never written */
	__u32 error_ns;		/* accuracy of the pair */
	__aligned_u64 card_ns;	/* CLOCK */
	__aligned_u64 real_ns;	/* CLOCK_REALTIME, ns since 1970 */
};

struct dingo_alloc_ucontext_req {
	__u32 comp_mask;
	__u32 kick_modes;	/* bit n: supports enum dingo_kick_mode n */
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

/* Driver-specific attributes and methods of the uverbs ioctl have numbers from
 * 1 << UVERBS_ID_NS_SHIFT on. UVERBS_METHOD_QUERY_CONTEXT returns struct
 * dingo_alloc_ucontext_resp of an existing context, for its import; the
 * importer owns the kick_fd in it.
 */
enum {
	DINGO_ATTR_QUERY_CONTEXT_RESP = 0x1000,
};

/* Method of UVERBS_OBJECT_PD: returns the PD number of a handle. */
enum {
	DINGO_METHOD_PD_QUERY = 0x1000,
};

enum {
	DINGO_ATTR_PD_QUERY_HANDLE = 0x1000,
	DINGO_ATTR_PD_QUERY_RESP_PDN = 0x1001, /* out: __u32 */
};

/* Attribute of UVERBS_METHOD_DM_ALLOC, out: struct dingo_dm_resp. */
enum {
	DINGO_ATTR_ALLOC_DM_RESP = 0x1000,
};

/* Method of UVERBS_OBJECT_DM: returns the response of DM_ALLOC, for imports. */
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
	__aligned_u64 length;		/* as requested */
};

struct dingo_alloc_pd_resp {
	__u32 comp_mask;
	__u32 pdn;
};

/* Location of a ring and its doorbell: 8-byte slot db_slot of the page at
 * db_mmap. Rings of one context often share a doorbell page and then have equal
 * db_mmap.
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
 * DINGO_CAP_DB_WATCH: the doorbell of the CQ, or of the SQ, is a watched slot
 * (contract, register DB_WATCH). Its writer only stores the slot. The slot is
 * in a page with only such slots and those of receive queues of such QPs. A
 * driver without watched slots refuses the bit with EOPNOTSUPP.
 */
#define DINGO_CREATE_WATCHED 1U

struct dingo_create_cq_req {
	__u32 comp_mask;
	__u32 reserved;
};

/* ibcq.cqe is entries - entries / 4: the provider must ring the consumer
 * doorbell at least every entries / 4 completions polled, and with every
 * arming.
 */
struct dingo_create_cq_resp {
	__u32 comp_mask;
	__u32 cqn;
	struct dingo_ring_map ring;
};

/* The provider must copy unpolled entries from the old ring before the next
 * resize, which may free that ring.
 */
struct dingo_resize_cq_resp {
	__u32 comp_mask;
	__u32 switch_index;	/* end of the entries in the old ring */
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
	__aligned_u64 push_mmap; /* write-only push page of the SQ's doorbell
				  * page; 0: none
				  */
};

/* Method of UVERBS_OBJECT_QP: selects the compute kernel of one direction. */
enum {
	DINGO_METHOD_QP_SET_COMPUTE = 0x1000,
};

enum {
	DINGO_ATTR_QP_SET_COMPUTE_HANDLE = 0x1000,
	/* in: struct dingo_set_compute_req; 0x1001 is UVERBS_ATTR_UHW_OUT */
	DINGO_ATTR_QP_SET_COMPUTE_REQ = 0x1002,
};

/* The direct road of kernel-less cards (hw/host/uverbs/direct_abi.h). */
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
	/* in: __u32: 0 creates the page; 1 opens it: the caller has mapped it
	 * and publishes its posted receives there
	 */
	DINGO_ATTR_QP_DIRECT_OPEN = 0x1003,
};

/* The context's directory of regions, kept up to date by the card. */
struct dingo_device_direct_resp {
	__u32 comp_mask;	/* 0 */
	__u32 context;		/* its number on the card */
	__aligned_u64 directory_mmap;
	__aligned_u64 directory_bytes;
	__u8 card[104];		/* path of the card's socket */
};

/* The page of a connected QP, which accepts direct
 * requests while it is open.
 */
struct dingo_qp_direct_resp {
	__u32 comp_mask;	/* 0 */
	__u32 generation;
	__aligned_u64 page_mmap;
	__aligned_u64 page_bytes;
	__u8 claim[24];		/* struct dingo_direct_claim */
	__u8 peer[104];		/* path of the socket to send the claim to */
};

struct dingo_set_compute_req {
	__u32 comp_mask;	/* 0 */
	__u32 direction;	/* DINGO_COMPUTE_SEND, DINGO_COMPUTE_RECEIVE */
	__u32 kernel;		/* DINGO_KERNEL_* */
	__u32 param;		/* depends on the kernel */
};

struct dingo_compute_kernel {
	__u8 name[16];		/* padded with NUL, which 16 bytes lack */
	__u32 id;
	__u32 smallest_param;	/* 0: takes no parameter */
	__u32 largest_param;
	__u32 record;		/* bytes */
};

#define DINGO_MAX_KERNELS 16

/* Driver data of the extended QUERY_DEVICE. */
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
