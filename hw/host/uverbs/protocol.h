/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the preload library and a kernel-less card say to each other.
 *
 * A client's open() of /dev/infiniband/uverbsN is a SOCK_SEQPACKET connection to the card's socket,
 * and the descriptor that the application gets is this connection: when the last copy of it is
 * closed, or the process dies, the card destroys what was made through it, as the kernel does.
 *
 * One message a request, one a reply. Each request carries a new socket as its first descriptor
 * (SCM_RIGHTS); the reply comes there, so that threads, and a parent and its forked child, may ask
 * at the same time. Arguments that a kernel would read and write in the client's memory travel in
 * the messages: a card that looked for them there would wait for whatever a page fault of the
 * client waits for.
 *
 * The client is not trusted: lengths, addresses and descriptors are checked by the card, and what
 * a client can spoil is its own.
 */
#ifndef DINGO_UVERBS_PROTOCOL_H
#define DINGO_UVERBS_PROTOCOL_H

#include <stdint.h>

#define DINGO_UVERBS_VERSION 2
#define DINGO_UVERBS_MAX_MESSAGE 81920 /* bytes of a request or reply, header included */
#define DINGO_UVERBS_MAX_ARGUMENTS 32  /* of one request */
#define DINGO_UVERBS_MAX_FDS 32        /* descriptors of one message */
#define DINGO_UVERBS_MAX_SEGMENTS 30   /* in one request */
#define DINGO_UVERBS_MAX_PIECES 252    /* allocations of a GPU; with the reply socket SCM_MAX_FD */

enum dingo_uverbs_request_type {
    /* First message of each process that uses the connection. fds: reply; /proc/self/mem O_RDWR for
     * memory of regions that cannot be shared, unless the card is not to have that. */
    DINGO_UVERBS_HELLO = 1,
    /* ioctl(RDMA_VERBS_IOCTL). payload: ib_uverbs_ioctl_hdr with its attributes; arg: its address
     * in the client, where the answer changes it. */
    DINGO_UVERBS_IOCTL = 2,
    /* write(). payload: what was written. */
    DINGO_UVERBS_WRITE = 3,
    /* mmap(). arg: offset, arg2: length. Reply: fds[0] to map, at map_offset. */
    DINGO_UVERBS_MMAP = 4,
    /* open() of a sysfs file whose content changes. payload: path below sys/. Reply: fds[0], a
     * descriptor to read it from; -ENOENT: the file is a plain one. Needs no HELLO. */
    DINGO_UVERBS_SYSFS = 5,
    /* write() on a descriptor of /dev/infiniband/rdma_cm, which is a connection to the socket of
     * that name. payload: what was written. GET_EVENT never waits: -EAGAIN. While events wait the
     * card keeps one message of a byte, the token, in the connection, so that poll() works; who
     * takes it says so (TOKEN), and the card sends it again where it is still needed. An answer may
     * say that no event is left to the token (idle_token): the client takes it out and tells the
     * card by a request with TOKEN and without payload. */
    DINGO_UVERBS_RDMA_CM = 6,
    /* A message to RDMA netlink. payload: nlmsghdr and what follows. Reply: fds[0], a descriptor to
     * read the answering message from, if there is one; of a dump NLMSG_DONE is the client's
     * affair. A dump comes in pieces of one message: `next` of the reply, if it is not 0, is `arg`
     * of the request for the next piece. Needs no HELLO. */
    DINGO_UVERBS_NETLINK = 7,
    /* On a descriptor of rdma_cm, where the view has several cards. fds: reply, a new connection to
     * the rdma_cm.sock of another one. It is this card's from now on, which asks for the caller
     * there: identifiers go to the card that their address leads to. -EEXIST: it is there
     * already. */
    DINGO_UVERBS_RDMA_CM_JOIN = 8,
    /* What a card asks first on such a connection, after HELLO. arg, arg2: address and length of an
     * argument, the room for struct dingo_uverbs_cm_routes. From here on the connection takes no
     * JOIN, identifier DINGO_UVERBS_CM_LAST is the one that CREATE_ID made last, and the token
     * comes to the reply socket of this request: the connection's end is the client's, too, who may
     * hold whoever reads there. */
    DINGO_UVERBS_RDMA_CM_ROUTES = 9,
    /* The sender is the provider of a QP that is connected to one of this card (direct_abi.h).
     * payload: struct dingo_direct_claim. Reply: fds: the page of the QP here (map_offset bytes
     * into it; need_length: its generation), the directory of its context (need_va: its number),
     * the status page, its RQ or, without one, the page once more. -EAGAIN: the QP is not ready.
     * Needs no HELLO. Until the connection ends the card waits for who is busy there. */
    DINGO_UVERBS_DIRECT_LINK = 10,
    /* arg: number of a context, arg2: number of a file of its regions. Reply: fds[0], the file.
     * Needs no HELLO. */
    DINGO_UVERBS_DIRECT_FILE = 11,
    /* arg: a generation that DIRECT_LINK answered on this connection. The sender uses that page no
     * more. -ENOENT: it has not got it. */
    DINGO_UVERBS_DIRECT_UNLINK = 12,
};

#define DINGO_UVERBS_CM_LAST 0xffffffffu

struct dingo_uverbs_cm_prefix {
    uint8_t address[16]; /* of the card; IPv4 as ::ffff:a.b.c.d */
    uint32_t length;     /* bits that are on its link */
};

struct dingo_uverbs_cm_routes {
    uint64_t node_guid;
    uint32_t num_prefixes; /* struct dingo_uverbs_cm_prefix, in the order of the GIDs: follow */
    uint32_t reserved;
};

/* Memory of the client that the request names by its address. Its bytes come with the request,
 * unless it is room for an answer. */
struct dingo_uverbs_argument {
    uint64_t va;
    uint32_t length; /* rooms: together at most DINGO_UVERBS_MAX_MESSAGE */
    uint32_t flags;  /* DINGO_UVERBS_ROOM */
};

#define DINGO_UVERBS_ROOM 1u

/* Memory of the client that the card can reach, too: fds[1 + fd] at `offset` is what the client has
 * at `va`. The card maps the file, which must be sealed against shrinking (F_SEAL_SHRINK); one that
 * is not (flag FILE) must be in memory (tmpfs), and is read and written by its descriptor. */
struct dingo_uverbs_segment {
    uint64_t va;
    uint64_t length; /* va, length and offset: multiples of the page size */
    uint64_t offset;
    uint32_t fd;    /* index into the descriptors after the reply socket */
    uint32_t flags; /* DINGO_UVERBS_SEGMENT_* */
};

#define DINGO_UVERBS_SEGMENT_FILE 2u

/* Memory of an NVIDIA GPU, where a request is about to register some: an allocation, or several
 * that are mapped one behind the other. */
struct dingo_uverbs_gpu {
    uint8_t uuid[16];       /* of the GPU */
    uint32_t kind;          /* enum dingo_uverbs_gpu_kind */
    uint32_t num_pieces;    /* 0: one allocation; else the bytes of each follow, uint64_t */
    uint64_t offset;        /* of the range in the first allocation */
    uint64_t size;          /* bytes of all its allocations */
    uint8_t ipc_handle[64]; /* GPU_IPC */
};

/* A region may reach so far beyond `size`, short of one byte: drivers pin memory by pages of this
 * size, and programs round up what they register. Nothing is transferred there. */
#define DINGO_UVERBS_GPU_PAGE 65536u

enum dingo_uverbs_gpu_kind {
    DINGO_UVERBS_GPU_IPC = 1,        /* cuIpcGetMemHandle() gave the handle; one allocation */
    DINGO_UVERBS_GPU_DESCRIPTOR = 2, /* fds[1...]: cuMemExportToShareableHandle() of each */
};

#define DINGO_UVERBS_SHARED 1u /* the answer to NEED_SHARING: as much as is possible is shared */
#define DINGO_UVERBS_FAULT 2u  /* with SHARED: part of the range is not mapped, or not as asked */
#define DINGO_UVERBS_FDS 4u    /* the answer to NEED_FDS: fds[1...] are the descriptors, in order */
#define DINGO_UVERBS_BADF 8u   /* with FDS, and then without descriptors: one of them is not open */
#define DINGO_UVERBS_TOKEN 16u /* RDMA_CM: the caller has taken the token */
/* The answer to NEED_SHARING, or to NEED_FDS with need_length: the range is memory of a GPU.
 * struct dingo_uverbs_gpu: after the header, instead of segments. */
#define DINGO_UVERBS_GPU 32u

struct dingo_uverbs_request {
    uint32_t version; /* DINGO_UVERBS_VERSION */
    uint32_t type;    /* enum dingo_uverbs_request_type */
    uint32_t pid;     /* of the caller; HELLO came from it before */
    uint32_t flags;
    uint64_t arg;
    uint64_t arg2;
    uint32_t num_segments; /* struct dingo_uverbs_segment: after this header */
    uint32_t payload_len;
    /* struct dingo_uverbs_argument: after the segments. Then the payload, and the bytes of those
     * that are no room, in order. */
    uint32_t num_arguments;
    uint32_t reserved; /* 0 */
};

/* The client stores `length` bytes at `offset` of a room. */
struct dingo_uverbs_result {
    uint32_t argument; /* its index plus 1; 0: the payload of an IOCTL */
    uint32_t offset;
    uint32_t length;
};

/* The client stores the number of descriptor `fd` at address `va`, as an integer of `size`: in a
 * room, or in an attribute of an IOCTL that has no length. */
struct dingo_uverbs_fixup {
    uint64_t va;
    uint32_t size; /* 4 or 8 */
    uint32_t fd;   /* index into the reply's descriptors */
    uint32_t kind; /* enum dingo_uverbs_fd_kind */
    uint32_t reserved;
};

enum dingo_uverbs_fd_kind {
    DINGO_UVERBS_FD_OTHER = 0,
    DINGO_UVERBS_FD_COMP = 1,  /* completion channel: struct ib_uverbs_comp_event_desc a message */
    DINGO_UVERBS_FD_ASYNC = 2, /* async events: struct ib_uverbs_async_event_desc a message */
};

enum dingo_uverbs_reply_type {
    DINGO_UVERBS_DONE = 1,
    /* Make [need_va, need_va + need_length) shared where that can be done without the application
     * noticing, then send the same request again with flag SHARED and the segments.
     * need_writable: the range must be writable, else FAULT. */
    DINGO_UVERBS_NEED_SHARING = 2,
    /* The request names descriptors of the client by number (a completion channel, the async
     * descriptor, a DMABuf): send it again with flag FDS and copies of them after the reply socket.
     * The card holds no copy of its own, else it would not see the client close the last one.
     * need_length: not 0 if need_fds[0] may be a DMABuf of a GPU's memory, whose address would be
     * need_va, need_offset bytes into the DMABuf. */
    DINGO_UVERBS_NEED_FDS = 3,
};

#define DINGO_UVERBS_MAX_NEED_FDS 4
#define DINGO_UVERBS_IDLE_HERE 1u /* in the connection that was asked */
#define DINGO_UVERBS_IDLE_LEFT 2u /* in the one that the identifier of MIGRATE_ID has left */

struct dingo_uverbs_reply {
    uint32_t version;
    uint32_t type;       /* enum dingo_uverbs_reply_type */
    int32_t result;      /* result of the system call: >= 0, or -errno */
    uint32_t num_fixups; /* struct dingo_uverbs_fixup: after this header */
    union {
        uint64_t map_offset;  /* MMAP */
        uint64_t next;        /* NETLINK */
        uint64_t need_offset; /* NEED_FDS */
    };
    uint64_t need_va;
    uint64_t need_length;
    union {
        uint32_t need_writable; /* NEED_SHARING */
        uint32_t idle_token;    /* RDMA_CM: DINGO_UVERBS_IDLE_*: tokens without an event */
    };
    uint32_t card_pid; /* HELLO */
    uint32_t rdev; /* HELLO: device number that fstat() shows, makedev(231, 192 + N) as major << 20
                      | minor */
    uint32_t num_need_fds; /* NEED_FDS: how many of need_fds, 1 to 4 */
    int32_t need_fds[DINGO_UVERBS_MAX_NEED_FDS];
    /* DONE and result >= 0: struct dingo_uverbs_result: after the fixups. Then their bytes */
    uint32_t num_results;
    uint32_t reserved;
};

#endif
