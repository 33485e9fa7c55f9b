/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protocol between the preload library and a kernel-less card.
 *
 * A client's open() of /dev/infiniband/uverbsN connects a SOCK_SEQPACKET socket to the card, and
 * the application gets this connection as its descriptor. When its last copy is closed, or the
 * process dies, the card destroys all objects created through it, as the kernel does.
 *
 * Each request and each reply is one message. A request carries a new socket as its first
 * descriptor (SCM_RIGHTS), on which the reply is sent, so that several threads, or a parent and its
 * forked child, can send requests at the same time. Arguments that a kernel would read and write in
 * the client's memory are part of the messages: if the card accessed that memory, it would have to
 * wait for the client's page faults.
 *
 * The client is not trusted: the card checks lengths, addresses and descriptors, and a client can
 * only damage its own objects.
 */
#ifndef DINGO_UVERBS_PROTOCOL_H
#define DINGO_UVERBS_PROTOCOL_H

#include <stdint.h>

#define DINGO_UVERBS_VERSION 2
#define DINGO_UVERBS_MAX_MESSAGE 81920 /* bytes of a request or reply including its header */
#define DINGO_UVERBS_MAX_ARGUMENTS 32  /* of one request */
#define DINGO_UVERBS_MAX_FDS 32        /* descriptors of one message */
#define DINGO_UVERBS_MAX_SEGMENTS 30   /* in one request */
#define DINGO_UVERBS_MAX_PIECES 252    /* allocations of a GPU; SCM_MAX_FD minus the reply socket */

enum dingo_uverbs_request_type {
    /* First message of each process that uses the connection. fds: reply socket; /proc/self/mem
     * opened with O_RDWR for regions whose memory cannot be shared, unless the card must not
     * have it. */
    DINGO_UVERBS_HELLO = 1,
    /* ioctl(RDMA_VERBS_IOCTL). payload: ib_uverbs_ioctl_hdr with its attributes; arg: its
     * address in the client, where the answer is stored. */
    DINGO_UVERBS_IOCTL = 2,
    /* write(). payload: the data written. */
    DINGO_UVERBS_WRITE = 3,
    /* mmap(). arg: offset, arg2: length. Reply: fds[0] is the descriptor to map, at map_offset. */
    DINGO_UVERBS_MMAP = 4,
    /* open() of a sysfs file whose content changes. payload: path below sys/. Reply: fds[0] is a
     * descriptor of the text; -ENOENT for a plain file. Needs no HELLO. */
    DINGO_UVERBS_SYSFS = 5,
    /* write() on a descriptor of /dev/infiniband/rdma_cm, which is a connection to the socket of
     * that name. payload: the data written. GET_EVENT never waits but returns -EAGAIN. While
     * events are queued, the card keeps a one-byte message, the token, in the connection, so
     * that poll() works. A client that reads the token sets TOKEN in its request, and the card
     * sends the token again if it is still needed. An answer may report that the token has no
     * event left (idle_token): then the client removes it and tells the card by a request with
     * TOKEN and without payload. */
    DINGO_UVERBS_RDMA_CM = 6,
    /* A message to RDMA netlink. payload: nlmsghdr and its data. Reply: fds[0], if present, is a
     * descriptor of the answering message. For a dump the client adds NLMSG_DONE. A dump is sent
     * in pieces of one message: a nonzero `next` of the reply is `arg` of the request for the
     * next piece. Needs no HELLO. */
    DINGO_UVERBS_NETLINK = 7,
    /* Sent on an rdma_cm descriptor if the view has several cards. fds: reply socket; a new
     * connection to the rdma_cm.sock of another card. This card takes it over and sends requests
     * there for the caller: an identifier moves to the card that its address leads to. -EEXIST:
     * joined already. */
    DINGO_UVERBS_RDMA_CM_JOIN = 8,
    /* First request of a card on such a connection, after HELLO. arg, arg2: address and length
     * of an argument, the room for struct dingo_uverbs_cm_routes. From then on the connection
     * rejects JOIN, identifier DINGO_UVERBS_CM_LAST means the one that CREATE_ID has created
     * last, and the token is sent to the reply socket of this request: the client has a copy of
     * the connection's end, and could block a reader there. */
    DINGO_UVERBS_RDMA_CM_ROUTES = 9,
    /* Sent by the provider of a QP that is connected to a QP of this card (direct_abi.h).
     * payload: struct dingo_direct_claim. Reply: fds: the page of the QP here (at map_offset;
     * need_length: its generation), the directory of its context (need_va: its number), the
     * status page, and its RQ, or the page again if there is none. -EAGAIN: the QP is not ready.
     * Needs no HELLO. Until the connection ends, the card waits for a busy peer before it
     * withdraws anything from it. */
    DINGO_UVERBS_DIRECT_LINK = 10,
    /* arg: number of a context, arg2: number of a file of its regions. Reply: fds[0] is the
     * file. Needs no HELLO. */
    DINGO_UVERBS_DIRECT_FILE = 11,
    /* arg: generation that DIRECT_LINK returned on this connection. The sender no longer uses
     * that page. -ENOENT: it does not have it. */
    DINGO_UVERBS_DIRECT_UNLINK = 12,
};

#define DINGO_UVERBS_CM_LAST 0xffffffffu

struct dingo_uverbs_cm_prefix {
    uint8_t address[16]; /* the card's address; IPv4 as ::ffff:a.b.c.d */
    uint32_t length;     /* prefix length in bits */
};

struct dingo_uverbs_cm_routes {
    uint64_t node_guid;
    uint32_t num_prefixes; /* number of struct dingo_uverbs_cm_prefix that follow, in the order
                            * of the GIDs */
    uint32_t reserved;
};

/* Memory of the client that a request names by address. The bytes are sent with the request,
 * unless it is room for an answer. */
struct dingo_uverbs_argument {
    uint64_t va;
    uint32_t length; /* rooms: together at most DINGO_UVERBS_MAX_MESSAGE bytes */
    uint32_t flags;  /* DINGO_UVERBS_ROOM */
};

#define DINGO_UVERBS_ROOM 1u

/* Memory of the client that the card can access, too: `offset` in file fds[1 + fd] is mapped at
 * `va` in the client. The card maps the file, which must be sealed against shrinking
 * (F_SEAL_SHRINK). A file that is not sealed (flag FILE) must be on tmpfs; the card accesses it
 * by read and write calls. */
struct dingo_uverbs_segment {
    uint64_t va;
    uint64_t length; /* va, length and offset are multiples of the page size */
    uint64_t offset;
    uint32_t fd;    /* index into the descriptors after the reply socket */
    uint32_t flags; /* DINGO_UVERBS_SEGMENT_* */
};

#define DINGO_UVERBS_SEGMENT_FILE 2u

/* Memory of an NVIDIA GPU, sent when a request registers it: one allocation, or several that are
 * mapped adjacently. */
struct dingo_uverbs_gpu {
    uint8_t uuid[16];       /* UUID of the GPU */
    uint32_t kind;          /* enum dingo_uverbs_gpu_kind */
    uint32_t num_pieces;    /* 0: one allocation; else the size of each follows as uint64_t */
    uint64_t offset;        /* offset of the range in the first allocation */
    uint64_t size;          /* total size of the allocations in bytes */
    uint8_t ipc_handle[64]; /* with GPU_IPC */
};

/* A region may extend beyond `size` by less than this: drivers pin memory in pages of this size,
 * and programs round up what they register. No data is transferred there. */
#define DINGO_UVERBS_GPU_PAGE 65536u

enum dingo_uverbs_gpu_kind {
    DINGO_UVERBS_GPU_IPC = 1,        /* handle from cuIpcGetMemHandle(); one allocation */
    DINGO_UVERBS_GPU_DESCRIPTOR = 2, /* fds[1...] from cuMemExportToShareableHandle(), one each */
};

#define DINGO_UVERBS_SHARED 1u /* answers NEED_SHARING: all that can be shared is shared */
#define DINGO_UVERBS_FAULT 2u  /* with SHARED: part of the range is not mapped, or not as asked */
#define DINGO_UVERBS_FDS 4u    /* answers NEED_FDS: fds[1...] are the descriptors, in order */
#define DINGO_UVERBS_BADF 8u   /* with FDS but without descriptors: one of them is not open */
#define DINGO_UVERBS_TOKEN 16u /* RDMA_CM: the caller has taken the token */
/* Answers NEED_SHARING, or NEED_FDS with need_length: the range is GPU memory. struct
 * dingo_uverbs_gpu follows the header instead of segments. */
#define DINGO_UVERBS_GPU 32u

struct dingo_uverbs_request {
    uint32_t version; /* DINGO_UVERBS_VERSION */
    uint32_t type;    /* enum dingo_uverbs_request_type */
    uint32_t pid;     /* of the caller, which has sent HELLO before */
    uint32_t flags;
    uint64_t arg;
    uint64_t arg2;
    uint32_t num_segments; /* number of struct dingo_uverbs_segment after this header */
    uint32_t payload_len;
    /* Number of struct dingo_uverbs_argument after the segments. Then follow the payload and the
     * bytes of the arguments that are not rooms, in order. */
    uint32_t num_arguments;
    uint32_t reserved; /* 0 */
};

/* The client stores `length` bytes of the reply at `offset` of a room. */
struct dingo_uverbs_result {
    uint32_t argument; /* index of the argument plus 1; 0: the payload of an IOCTL */
    uint32_t offset;
    uint32_t length;
};

/* The client stores the number of descriptor `fd` at address `va`, as an integer of `size`
 * bytes: in a room, or in an attribute of an IOCTL that has no length. */
struct dingo_uverbs_fixup {
    uint64_t va;
    uint32_t size; /* 4 or 8 */
    uint32_t fd;   /* index into the reply's descriptors */
    uint32_t kind; /* enum dingo_uverbs_fd_kind */
    uint32_t reserved;
};

enum dingo_uverbs_fd_kind {
    DINGO_UVERBS_FD_OTHER = 0,
    DINGO_UVERBS_FD_COMP = 1,  /* completion channel: one struct ib_uverbs_comp_event_desc per
                                * message */
    DINGO_UVERBS_FD_ASYNC = 2, /* async events: one struct ib_uverbs_async_event_desc per message */
};

enum dingo_uverbs_reply_type {
    DINGO_UVERBS_DONE = 1,
    /* Share [need_va, need_va + need_length) where that is possible without the application
     * noticing, then send the same request again with flag SHARED and the segments.
     * need_writable: the range must be writable, else set FAULT. */
    DINGO_UVERBS_NEED_SHARING = 2,
    /* The request names descriptors of the client by number (a completion channel, the async
     * descriptor, a DMABuf): send it again with flag FDS and copies of them after the reply
     * socket. The card keeps no copy of its own, as it could not detect that the client has
     * closed the last one. need_length: not 0 if need_fds[0] may be a DMABuf of GPU memory; its
     * address would be need_va, at need_offset in the DMABuf. */
    DINGO_UVERBS_NEED_FDS = 3,
};

#define DINGO_UVERBS_MAX_NEED_FDS 4
#define DINGO_UVERBS_IDLE_HERE 1u /* in the connection of the request */
#define DINGO_UVERBS_IDLE_LEFT 2u /* in the one that the identifier of MIGRATE_ID has left */

struct dingo_uverbs_reply {
    uint32_t version;
    uint32_t type;       /* enum dingo_uverbs_reply_type */
    int32_t result;      /* result of the system call: >= 0, or -errno */
    uint32_t num_fixups; /* number of struct dingo_uverbs_fixup after this header */
    union {
        uint64_t map_offset;  /* MMAP */
        uint64_t next;        /* NETLINK */
        uint64_t need_offset; /* NEED_FDS */
    };
    uint64_t need_va;
    uint64_t need_length;
    union {
        uint32_t need_writable; /* NEED_SHARING */
        uint32_t idle_token;    /* RDMA_CM: DINGO_UVERBS_IDLE_*, tokens without an event */
    };
    uint32_t card_pid; /* HELLO */
    /* HELLO: device number for fstat(), makedev(231, 192 + N), as major << 20 | minor */
    uint32_t rdev;
    uint32_t num_need_fds; /* NEED_FDS: number of entries in need_fds, 1 to 4 */
    int32_t need_fds[DINGO_UVERBS_MAX_NEED_FDS];
    /* DONE and result >= 0: number of struct dingo_uverbs_result after the fixups; their bytes
     * follow */
    uint32_t num_results;
    uint32_t reserved;
};

#endif
