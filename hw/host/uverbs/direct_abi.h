/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The direct road: a provider executes RDMA WRITE, READ and SEND to a program on the same host
 * itself, in memory that the cards show it (docs/reference/direct.md). This is the ABI between a
 * card and the two providers of a connection. Numbers are in host byte order; words that change are
 * accessed atomically.
 */
#ifndef DINGO_DIRECT_ABI_H
#define DINGO_DIRECT_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Size in bytes of a page with 2^log_rq receives. */
#define DINGO_DIRECT_PAGE_BYTES(log_rq)                                                      \
    ((sizeof(struct dingo_direct_page) + (sizeof(struct dingo_direct_receive) << (log_rq)) + \
      4095) &                                                                                \
     ~(size_t)4095)

/* Values of `busy` in its low bits: a request that completes no receive, one that may complete a
 * receive; 0 if idle. */
#define DINGO_DIRECT_BUSY 1U
#define DINGO_DIRECT_BUSY_RECEIVE 3U

/* Same layout as struct queue_indexes of the contract, which the card writes there. */
struct dingo_direct_indexes {
    uint32_t rq_producer;
    uint32_t rsvd0[15];
    uint32_t rq_consumer;
    uint32_t rsvd1[15];
    uint32_t sq_consumer;
    uint32_t rsvd2[15];
};

/* A receive completed by the peer's provider, at its index in the RQ. */
struct dingo_direct_receive {
    uint32_t seq; /* index + 1 when the other fields are valid */
    uint32_t byte_len;
    uint32_t imm;    /* immediate data in network byte order */
    uint32_t opcode; /* enum wc */
};

/* A QP as seen by its peer. Each 64-byte line has one kind of writer. */
struct dingo_direct_page {
    /* written by the owner's card; `open` also by the owner's provider, which sets it to 0 */
    uint32_t open;         /* the page's generation while the QP accepts direct requests, else 0 */
    uint32_t access;       /* DINGO_ACC_REMOTE_* of the QP */
    uint32_t pdn;          /* protection domain; regions of other PDs are not accessible */
    uint32_t reads;        /* max_dest_rd_atomic */
    uint64_t rq_offset;    /* offset of the RQ in its file */
    uint8_t rq_log;        /* log2 of the number of entries */
    uint8_t rq_log_stride; /* log2 of an entry's size in bytes */
    uint8_t has_rq;        /* 0: the QP has an SRQ, or its card keeps the indexes */
    uint8_t has_indexes;   /* 0: `indexes` is not used */
    uint32_t can_read;     /* max_rd_atomic: READs that the owner may issue */
    /* written by the owner's provider, rarely */
    uint32_t receives; /* the provider checks the receives below */
    uint32_t armed;    /* its receive CQ is armed; only cards send events */
    /* written by the owner's card */
    uint32_t atomics; /* 1: the card executes atomics with locked instructions */
    uint32_t rsvd1[5];
    /* written by the peer's provider */
    uint32_t busy; /* DINGO_DIRECT_BUSY... while it checks permissions or uses memory */
    uint32_t key;  /* meanwhile: key of the only region that it uses; 0: it may use any */
    uint64_t rx_writes;
    uint64_t rx_write_bytes;
    uint64_t rx_reads;
    uint64_t rx_read_bytes;
    uint64_t rx_sends;
    uint64_t rx_send_bytes;
    uint64_t rx_atomics;
    /* written by the owner's provider: what it has sent */
    uint64_t tx_writes;
    uint64_t tx_write_bytes;
    uint64_t tx_reads;
    uint64_t tx_read_bytes;
    uint64_t tx_sends;
    uint64_t tx_send_bytes;
    uint64_t tx_atomics;
    uint64_t rsvd4;
    /* written by the owner's provider and by peers that take entries of the RQ */
    struct dingo_direct_indexes indexes;
    struct dingo_direct_receive done[]; /* one for each entry of the RQ */
};

/*
 * A region of a context, at the index of its key. It covers the bytes that lie in one file that
 * cannot shrink; accesses to other bytes go through the card.
 */
struct dingo_direct_region {
    uint32_t seq; /* 0 or odd: no valid entry */
    uint32_t key;
    uint32_t pdn;
    uint32_t access; /* DINGO_ACC_* */
    uint64_t iova;
    uint64_t length;
    uint64_t offset; /* offset of iova in the file */
    uint32_t file;   /* number of the file in the context */
    uint32_t rsvd[5];
};

/* The regions of one context. */
struct dingo_direct_directory {
    uint32_t on; /* 0: the card's wire is captured, disturbed or without a link */
    uint32_t num_regions;
    uint32_t rsvd[14];
    struct dingo_direct_region regions[];
};

/* A provider's description of its QP, made by its own card, for the peer's card. */
struct dingo_direct_claim {
    uint8_t mac[6];
    uint16_t path_mtu; /* enum ibv_mtu */
    uint32_t qpn;
    uint32_t dest_qpn;
    uint32_t sq_psn;
    uint32_t rq_psn;
};

#endif
