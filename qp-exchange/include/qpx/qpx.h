/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C interface of qp-exchange. The C++ headers beside this one describe the calls in detail.
 *
 * A function that returns int gives 0, or minus one of QPX_E...; qpx_last_error() then says in
 * words what happened and what to do. Functions for the same object must not be called from two
 * threads at the same time.
 */
#ifndef QPX_QPX_H
#define QPX_QPX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QPX_API __attribute__((visibility("default")))

enum qpx_error {
    QPX_EARGUMENT = 1,     /* the caller's value cannot be used; nothing was sent */
    QPX_ERESOLVE = 2,      /* a host name, address or port has no meaning here */
    QPX_EREFUSED = 3,      /* closed port, or the other side refused and said why */
    QPX_ETIMEOUT = 4,      /* the time given was not enough */
    QPX_EPROTOCOL = 5,     /* the other side does not keep to the protocol */
    QPX_EVERSION = 6,      /* the other side speaks another major version */
    QPX_EAUTH = 7,         /* TLS failed, or the other side is not who it must be */
    QPX_ELIMIT = 8,        /* a limit was, or would be, exceeded */
    QPX_EPEERGONE = 9,     /* the connection ended */
    QPX_EDEVICE = 10,      /* a verbs call failed */
    QPX_EUNSUPPORTED = 11, /* not in this build, or not on this device */
    QPX_EINTERNAL = 12,    /* no memory, or another failure of this process */
    QPX_ECANCELLED = 13    /* qpx_cancel() and the like, or a signal where that ends calls */
};

enum qpx_qp_type { QPX_RC = 1, QPX_UC = 2, QPX_UD = 3 };

/* Memory that the other side may use. */
struct qpx_region {
    uint64_t address;
    uint64_t length; /* bytes */
    uint32_t rkey;
    char tag[256]; /* text, ended by NUL */
};

enum qpx_gid_type { QPX_GID_INFINIBAND = 1, QPX_GID_ROCE_V1 = 2, QPX_GID_ROCE_V2 = 3 };
enum qpx_gid_wish {
    QPX_GID_POSSIBLE = 0,
    QPX_GID_CHOSEN = 1,   /* qpx_endpoint.gid */
    QPX_GID_CONNECTED = 2 /* qpx_endpoint.gid, and the two sides are connected over this address */
};
/* An address that a port has. Both sides tell theirs, and qpx_agree() says which two are used. */
struct qpx_candidate {
    uint8_t gid[16];
    uint8_t type;      /* enum qpx_gid_type */
    uint8_t wish;      /* enum qpx_gid_wish */
    uint8_t prefix;    /* bits that name its network; 0: not known */
    uint8_t reserved;  /* 0 */
    int32_t gid_index; /* in this host's table; -1 in a peer's endpoint: it does not travel */
};
#define QPX_MAX_CANDIDATES 64

/* One queue pair as the other side sees it. All zero, then filled in, is a good start. */
struct qpx_endpoint {
    char device[64]; /* for messages only */
    uint8_t gid[16]; /* network order */
    uint32_t qpn;
    uint32_t psn; /* first PSN that this side sends */
    uint32_t qkey;
    uint32_t srqn;
    uint32_t mtu;  /* bytes */
    uint32_t type; /* enum qpx_qp_type */
    uint16_t lid;  /* 0 on Ethernet */
    uint8_t port;  /* from 1 */
    uint8_t max_rd_atomic;
    uint8_t max_dest_rd_atomic;
    uint8_t reserved[3]; /* 0 */
    struct qpx_region* regions;
    size_t region_count;
    void* application; /* the application's own bytes */
    size_t application_length;
    uint32_t candidate_count;  /* 0: `gid` and no other */
    uint32_t reserved_flags;   /* 0 */
    uint64_t reserved_more[4]; /* 0: room for what later versions tell */
    struct qpx_candidate candidates[QPX_MAX_CANDIDATES];
};

/*
 * Structures of options begin with their size, so that a later library knows which members the
 * program has: sizeof the structure, or 0 for those of version 0.1. NULL, or all zero, is the
 * default. The initializers name all members in order, for compilers of C and of any C++.
 */

/* How to connect. */
struct qpx_options {
    size_t struct_size;
    int timeout_ms;       /* for each call; 0: 10 s; negative: for ever */
    int family;           /* AF_INET or AF_INET6 only; 0: both */
    int retry_refused;    /* not 0: connect tries a closed port again until the timeout */
    const char* name;     /* told to the peer; NULL: host and process */
    const char* security; /* "none" or NULL, "psk:FILE", "tls:CERT,KEY,CA[,ALLOWED...]" */
    int stop_on_signal;   /* not 0: a signal that meets a waiting call ends it: QPX_ECANCELLED */
};
#define QPX_OPTIONS_INIT \
    { sizeof(struct qpx_options), 0, 0, 0, NULL, NULL, 0 }

typedef struct qpx_connection qpx_connection;
typedef struct qpx_listener qpx_listener;

QPX_API const char* qpx_version(void);
/* What an error code means in general; also takes the negative. Never NULL. */
QPX_API const char* qpx_strerror(int code);
/* What the last failed call of this thread has to say. Never NULL; valid until its next failed
 * call. */
QPX_API const char* qpx_last_error(void);
/* Of that call: errno of the device for QPX_EDEVICE, EINTR for QPX_ECANCELLED when it was a signal,
 * the reason of docs/reference/qp-exchange-protocol.md for QPX_EREFUSED; else 0. */
QPX_API int qpx_last_detail(void);

/* @url: tcp://host:port, or cm://host:port through librdmacm. */
QPX_API int qpx_connect(const char* url, const struct qpx_options* options,
                        qpx_connection** connection);
/* @url: tcp://address:port; tcp://:0 is any free port on all addresses. */
QPX_API int qpx_listen(const char* url, const struct qpx_options* options, qpx_listener** listener);
QPX_API int qpx_accept(qpx_listener* listener, int timeout_ms, qpx_connection** connection);
/* 1: *@connection is the next client, 0: none is done; wait until qpx_listener_fd() is readable */
QPX_API int qpx_try_accept(qpx_listener* listener, qpx_connection** connection);
QPX_API int qpx_listener_fd(const qpx_listener* listener);
/* The waiting qpx_accept(), or the next, gives QPX_ECANCELLED. Any thread, any signal handler. */
QPX_API void qpx_listener_cancel(qpx_listener* listener);
/* Why clients were turned away since the last call, a line each; NULL: none were. Freed by free().
 */
QPX_API int qpx_listener_turned_away(qpx_listener* listener, char** lines);
QPX_API uint16_t qpx_listener_port(const qpx_listener* listener);
QPX_API void qpx_listener_close(qpx_listener* listener); /* NULL is nothing */

/* Both sides call it. *@theirs is freed by qpx_endpoints_free(). */
QPX_API int qpx_exchange(qpx_connection* connection, const struct qpx_endpoint* mine, size_t count,
                         struct qpx_endpoint** theirs, size_t* their_count);
/* An endpoint as bytes, for MPI, a key-value store, a file. *@bytes is freed by free(). */
QPX_API int qpx_endpoint_pack(const struct qpx_endpoint* endpoint, void** bytes, size_t* length);
/* *@endpoint is freed by qpx_endpoints_free(endpoint, 1). */
QPX_API int qpx_endpoint_unpack(const void* bytes, size_t length, struct qpx_endpoint** endpoint);
/* Of two sides that know each other's names one is to connect: 1: this one, 0: the other. */
QPX_API int qpx_should_connect(const char* mine, const char* theirs);
QPX_API void qpx_endpoints_free(struct qpx_endpoint* endpoints, size_t count); /* NULL is nothing */

QPX_API int qpx_send(qpx_connection* connection, const void* message, size_t length);
/* *@message is freed by free(); NULL for an empty one. */
QPX_API int qpx_receive(qpx_connection* connection, void** message, size_t* length);
/* 1: a message, 0: none is here; wait until qpx_fd() is readable */
QPX_API int qpx_try_receive(qpx_connection* connection, void** message, size_t* length);
/* The call that waits, or the next that would, gives QPX_ECANCELLED. Any thread, any signal
 * handler. */
QPX_API void qpx_cancel(qpx_connection* connection);
QPX_API int qpx_barrier(qpx_connection* connection);
QPX_API void qpx_set_timeout(qpx_connection* connection, int timeout_ms);
/* The peer's next call fails with this text. */
QPX_API void qpx_refuse(qpx_connection* connection, const char* reason);
/* Says good-bye and frees. NULL is nothing. */
QPX_API void qpx_close(qpx_connection* connection);

/* Valid until qpx_close(). */
QPX_API const char* qpx_peer_name(const qpx_connection* connection);
QPX_API const char* qpx_peer_address(const qpx_connection* connection);
QPX_API const char* qpx_local_address(const qpx_connection* connection);
QPX_API const char* qpx_peer_identity(
    const qpx_connection* connection);                    /* as TLS proved it, or "" */
QPX_API int qpx_secure(const qpx_connection* connection); /* 1: TLS */
/* For poll(): readable when qpx_try_receive() has something to say. Not to be read. -1: an error */
QPX_API int qpx_fd(const qpx_connection* connection);

struct ibv_qp;
/*
 * Fills @local (regions and application stay NULL: set them as you like) and says which GID index
 * it took.
 * @gid_index: the wanted one, or -1. @connection: the GID that reaches this peer; may be NULL.
 */
QPX_API int qpx_describe(struct ibv_qp* qp, uint8_t port, int gid_index,
                         const qpx_connection* connection, struct qpx_endpoint* local,
                         int* chosen_gid_index);

/* What is wanted of a queue pair and its GID; begin with QPX_DESCRIBE_OPTIONS_INIT. */
struct qpx_describe_options {
    size_t struct_size;
    int gid_index;     /* this one and no other; -1: any */
    int family;        /* AF_INET or AF_INET6 only; 0: any */
    const char* peer;  /* the peer's numeric address: the GID that reaches it; NULL: connection's */
    const char* local; /* this host's: that very GID when there is one; NULL: connection's */
    int max_rd_atomic; /* -1: the device's limit */
    int max_dest_rd_atomic; /* -1: the device's limit */
    uint32_t mtu;           /* bytes; 0: the port's active MTU */
    uint32_t qkey;          /* UD; 0: a random one */
    uint8_t port;           /* from 1 */
    uint8_t allow_roce_v1;  /* not 0: a RoCE v1 GID when there is none of v2 */
    uint8_t reserved[6];    /* 0 */
};
#define QPX_DESCRIBE_OPTIONS_INIT                                                     \
    {                                                                                 \
        sizeof(struct qpx_describe_options), -1, 0, NULL, NULL, -1, -1, 0, 0, 1, 0, { \
            0, 0, 0, 0, 0, 0                                                          \
        }                                                                             \
    }

/* As qpx_describe(). @options: NULL for the usual. @connection: may be NULL. */
QPX_API int qpx_describe_qp(struct ibv_qp* qp, const struct qpx_describe_options* options,
                            const qpx_connection* connection, struct qpx_endpoint* local,
                            int* chosen_gid_index);

/* The same of a QP that is known by its number, of the device of that name: for languages that hide
 * the pointers of verbs. @type: enum qpx_qp_type */
QPX_API int qpx_describe_number(const char* device, uint32_t qpn, uint32_t type,
                                const struct qpx_describe_options* options,
                                const qpx_connection* connection, struct qpx_endpoint* local,
                                int* chosen_gid_index);

/*
 * The two GIDs that @local and @remote use, the same on both sides: of one RoCE version and family,
 * in one network where there is one. The calls below use it; who changes the QP himself asks it.
 * @gid_index: what qpx_describe() said. *@mine: index in this host's table. @theirs: 16 bytes.
 * -QPX_EARGUMENT with a text that lists both sides when no two fit.
 */
QPX_API int qpx_agree(const struct qpx_endpoint* local, int gid_index,
                      const struct qpx_endpoint* remote, int* mine, uint8_t* theirs);

/*
 * RESET to RTS with the usual timeouts and all remote access that the QP's type has. A QP in INIT,
 * where receives can be posted already, is taken on from there.
 * @gid_index: what qpx_describe() said.
 */
QPX_API int qpx_connect_qp(struct ibv_qp* qp, const struct qpx_endpoint* local, int gid_index,
                           const struct qpx_endpoint* remote);

/* What the two sides need not agree on; begin with QPX_PATH_OPTIONS_INIT. */
struct qpx_path_options {
    size_t struct_size;
    uint8_t timeout; /* 4.096 us * 2^timeout; 0: for ever */
    uint8_t retry_cnt;
    uint8_t rnr_retry;     /* 7: for ever */
    uint8_t min_rnr_timer; /* code of IBTA table 45 */
    uint8_t traffic_class; /* DSCP << 2 | ECN on RoCE v2 */
    uint8_t sl;
    uint8_t hop_limit;
    uint8_t static_rate;
    uint32_t flow_label;
    uint16_t pkey_index;
    uint16_t reserved;
    int access; /* qp_access_flags; -1: all that type and device have */
    int grh;    /* 0, 1; -1: always on Ethernet, on InfiniBand when subnets differ */
};
#define QPX_PATH_OPTIONS_INIT \
    { sizeof(struct qpx_path_options), 14, 7, 7, 12, 0, 0, 64, 0, 0, 0, 0, -1, -1 }

/* As qpx_connect_qp(); @path: NULL for the usual. */
QPX_API int qpx_connect_qp_path(struct ibv_qp* qp, const struct qpx_endpoint* local, int gid_index,
                                const struct qpx_endpoint* remote,
                                const struct qpx_path_options* path);
/* RESET to INIT, to post receives before qpx_connect_qp_path() takes the QP on. */
QPX_API int qpx_init_qp(struct ibv_qp* qp, const struct qpx_endpoint* local,
                        const struct qpx_path_options* path);

struct ibv_pd;
struct ibv_ah;
/* Where a UD QP sends to. *@ah is destroyed by ibv_destroy_ah(). */
QPX_API int qpx_create_ah(struct ibv_pd* pd, const struct qpx_endpoint* local, int gid_index,
                          const struct qpx_endpoint* remote, const struct qpx_path_options* path,
                          struct ibv_ah** ah);

#ifdef __cplusplus
}
#endif

#endif /* QPX_QPX_H */
