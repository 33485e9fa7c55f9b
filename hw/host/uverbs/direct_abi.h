/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The direct road: a provider carries out RDMA WRITE, READ and SEND to a program of the same host,
 * in memory that cards show it (docs/reference/direct.md). What a card and the two providers of a
 * connection share. Numbers are the host's; words that change are read and written atomically.
 */
#ifndef DINGO_DIRECT_ABI_H
#define DINGO_DIRECT_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a page of 2^log_rq receives. */
#define DINGO_DIRECT_PAGE_BYTES(log_rq)                                                      \
    ((sizeof(struct dingo_direct_page) + (sizeof(struct dingo_direct_receive) << (log_rq)) + \
      4095) &                                                                                \
     ~(size_t)4095)

/* Low bits of `busy` of a page: a request that completes no receive; one that may. Else 0. */
#define DINGO_DIRECT_BUSY 1U
#define DINGO_DIRECT_BUSY_RECEIVE 3U

/* As struct queue_indexes of the contract, which the card writes there. */
struct dingo_direct_indexes {
    uint32_t rq_producer;
    uint32_t rsvd0[15];
    uint32_t rq_consumer;
    uint32_t rsvd1[15];
    uint32_t sq_consumer;
    uint32_t rsvd2[15];
};

/* A receive that the peer's provider has completed, at its index in the RQ. */
struct dingo_direct_receive {
    uint32_t seq; /* index + 1: the rest is valid */
    uint32_t byte_len;
    uint32_t imm;    /* as on the wire */
    uint32_t opcode; /* enum wc */
};

/* A QP as its peer sees it. Each 64-byte line has one kind of writer. */
struct dingo_direct_page {
    /* The owner's card; `open` also the owner's provider, to 0. */
    uint32_t open;         /* its generation while the QP takes direct requests, else 0 */
    uint32_t access;       /* DINGO_ACC_REMOTE_*: of the QP */
    uint32_t pdn;          /* regions of others do not count */
    uint32_t reads;        /* max_dest_rd_atomic */
    uint64_t rq_offset;    /* where the RQ begins in its file */
    uint8_t rq_log;        /* entries */
    uint8_t rq_log_stride; /* bytes */
    uint8_t has_rq;        /* 0: the QP has an SRQ, or its card keeps the indexes */
    uint8_t has_indexes;   /* 0: nothing is written to `indexes` */
    uint32_t can_read;     /* max_rd_atomic: READs of the owner's own */
    /* The owner's provider, rarely. */
    uint32_t receives; /* it looks at the receives below */
    uint32_t armed;    /* its receive CQ waits for an event: only cards send them */
    /* The owner's card. */
    uint32_t atomics; /* 1: it makes atomics in locked instructions */
    uint32_t rsvd1[5];
    /* The peer's provider. */
    uint32_t busy; /* DINGO_DIRECT_BUSY... while it looks at what is allowed, or uses memory */
    uint32_t key;  /* then: of the one region that it uses; 0: it may be any */
    uint64_t rx_writes;
    uint64_t rx_write_bytes;
    uint64_t rx_reads;
    uint64_t rx_read_bytes;
    uint64_t rx_sends;
    uint64_t rx_send_bytes;
    uint64_t rx_atomics;
    /* The owner's provider: what it has sent. */
    uint64_t tx_writes;
    uint64_t tx_write_bytes;
    uint64_t tx_reads;
    uint64_t tx_read_bytes;
    uint64_t tx_sends;
    uint64_t tx_send_bytes;
    uint64_t tx_atomics;
    uint64_t rsvd4;
    /* Written by the owner's provider, and by peers that take entries of the RQ. */
    struct dingo_direct_indexes indexes;
    struct dingo_direct_receive done[]; /* as many as the RQ has entries */
};

/*
 * A region of a context, at the index of its key. It covers the bytes that lie in one file that
 * cannot shrink; the card reaches the rest.
 */
struct dingo_direct_region {
    uint32_t seq; /* odd, or 0: there is none */
    uint32_t key;
    uint32_t pdn;
    uint32_t access; /* DINGO_ACC_* */
    uint64_t iova;
    uint64_t length;
    uint64_t offset; /* where iova lies in the file */
    uint32_t file;   /* its number in the context */
    uint32_t rsvd[5];
};

/* The regions of one context. */
struct dingo_direct_directory {
    uint32_t on; /* 0: the card is captured, disturbed or without a link */
    uint32_t num_regions;
    uint32_t rsvd[14];
    struct dingo_direct_region regions[];
};

/* What a provider says of its QP to the card of the peer: made by its own card. */
struct dingo_direct_claim {
    uint8_t mac[6];
    uint16_t path_mtu; /* enum ibv_mtu */
    uint32_t qpn;
    uint32_t dest_qpn;
    uint32_t sq_psn;
    uint32_t rq_psn;
};

#endif
