/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C interface of qp-exchange. The C++ headers beside this one describe the calls in detail.
 *
 * A function that returns int returns 0, or a negative QPX_E...; qpx_last_error() then says what
 * happened and what to do. Objects are not thread-safe: no two threads may use one at the same
 * time, except through the cancel functions.
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
    QPX_EARGUMENT = 1,     /* invalid argument; nothing was sent */
    QPX_ERESOLVE = 2,      /* a host name, address or port cannot be resolved */
    QPX_EREFUSED = 3,      /* closed port, or the other side refused and said why */
    QPX_ETIMEOUT = 4,      /* the call timed out */
    QPX_EPROTOCOL = 5,     /* the other side violated the protocol */
    QPX_EVERSION = 6,      /* the other side has another major version of the protocol */
    QPX_EAUTH = 7,         /* TLS failed, or the other side has the wrong identity */
    QPX_ELIMIT = 8,        /* a limit was, or would be, exceeded */
    QPX_EPEERGONE = 9,     /* the connection ended */
    QPX_EDEVICE = 10,      /* a verbs call failed */
    QPX_EUNSUPPORTED = 11, /* not supported by this build or device */
    QPX_EINTERNAL = 12,    /* out of memory, or another failure of this process */
    QPX_ECANCELLED = 13    /* cancelled, or interrupted by a signal with stop_on_signal */
};

enum qpx_qp_type { QPX_RC = 1, QPX_UC = 2, QPX_UD = 3 };

/* Memory that the other side may use. */
struct qpx_region {
    uint64_t address;
    uint64_t length; /* bytes */
    uint32_t rkey;
    char tag[256]; /* NUL-terminated text */
};

enum qpx_gid_type { QPX_GID_INFINIBAND = 1, QPX_GID_ROCE_V1 = 2, QPX_GID_ROCE_V2 = 3 };
enum qpx_gid_wish {
    QPX_GID_POSSIBLE = 0,
    QPX_GID_CHOSEN = 1,   /* qpx_endpoint.gid */
    QPX_GID_CONNECTED = 2 /* qpx_endpoint.gid, over whose address the two sides are connected */
};
/* A GID of the port. Both sides send theirs; qpx_agree() says which two are used. */
struct qpx_candidate {
    uint8_t gid[16];
    uint8_t type;      /* enum qpx_gid_type */
    uint8_t wish;      /* enum qpx_gid_wish */
    uint8_t prefix;    /* prefix length of its network in bits; 0: unknown */
    uint8_t reserved;  /* 0 */
    int32_t gid_index; /* in this host's table; not sent: -1 in a peer's endpoint */
};
#define QPX_MAX_CANDIDATES 64

/* One queue pair as the other side sees it. Zero the structure before filling it in. */
struct qpx_endpoint {
    char device[64]; /* for messages only */
    uint8_t gid[16]; /* network order */
    uint32_t qpn;
    uint32_t psn; /* first PSN sent by this side */
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
    void* application; /* opaque data of the application */
    size_t application_length;
    uint32_t candidate_count;  /* 0: only `gid` */
    uint32_t reserved_flags;   /* 0 */
    uint64_t reserved_more[4]; /* 0: for later versions */
    struct qpx_candidate candidates[QPX_MAX_CANDIDATES];
};

/*
 * Structures of options begin with their size, so that a later library knows which members the
 * program was compiled with: sizeof the structure, or 0 for those of version 0.1. NULL or all zero
 * selects the defaults. The initializers list all members in order, for C and any version of C++.
 */

/* Options of qpx_connect() and qpx_listen(). */
struct qpx_options {
    size_t struct_size;
    int timeout_ms;       /* for each call; 0: 10 s; negative: none */
    int family;           /* AF_INET or AF_INET6 only; 0: both */
    int retry_refused;    /* not 0: connect retries a closed port until the timeout */
    const char* name;     /* sent to the peer; NULL: host name and process id */
    const char* security; /* "none" or NULL, "psk:FILE", "tls:CERT,KEY,CA[,ALLOWED...]" */
    int stop_on_signal;   /* not 0: a signal ends a waiting call with QPX_ECANCELLED */
};
#define QPX_OPTIONS_INIT \
    { sizeof(struct qpx_options), 0, 0, 0, NULL, NULL, 0 }

typedef struct qpx_connection qpx_connection;
typedef struct qpx_listener qpx_listener;

/* Returns the library's version, as "0.1.0". Never NULL. */
QPX_API const char* qpx_version(void);

/* Returns a description of an error code. @code: QPX_E... or its negative. Never NULL. */
QPX_API const char* qpx_strerror(int code);

/* Returns the text of the last failed call of this thread: what happened and what to do. Never
 * NULL; valid until the thread's next failed call. */
QPX_API const char* qpx_last_error(void);

/* Returns the number that goes with qpx_last_error(): errno for QPX_EDEVICE, EINTR for
 * QPX_ECANCELLED by a signal, the reason of docs/reference/qp-exchange-protocol.md for
 * QPX_EREFUSED; else 0. */
QPX_API int qpx_last_detail(void);

/*
 * Connects to a listening peer, with TLS if @options request it.
 * @url: tcp://host:port, or cm://host:port through librdmacm.
 * @options: NULL for the defaults.
 * @connection: the result, to be closed by qpx_close().
 * Returns 0, -QPX_ERESOLVE, -QPX_EREFUSED, -QPX_ETIMEOUT, -QPX_EAUTH, -QPX_EVERSION,
 * -QPX_EPROTOCOL, -QPX_EUNSUPPORTED (no librdmacm).
 */
QPX_API int qpx_connect(const char* url, const struct qpx_options* options,
                        qpx_connection** connection);

/*
 * Listens for peers.
 * @url: tcp://address:port; tcp://:0 is any free port on all addresses, see qpx_listener_port().
 * @options: for all connections; NULL for the defaults.
 * @listener: the result, to be closed by qpx_listener_close().
 * Returns 0, -QPX_ERESOLVE, -QPX_EREFUSED if the port is in use.
 */
QPX_API int qpx_listen(const char* url, const struct qpx_options* options, qpx_listener** listener);

/*
 * Waits for the next client that completes the handshake.
 * @timeout_ms: milliseconds; negative: none.
 * @connection: the result, to be closed by qpx_close().
 * Returns 0, -QPX_ETIMEOUT, -QPX_ECANCELLED.
 */
QPX_API int qpx_accept(qpx_listener* listener, int timeout_ms, qpx_connection** connection);

/* Like qpx_accept() without waiting. Returns 1 with *@connection, 0 if none is ready (wait until
 * qpx_listener_fd() is readable), or an error. */
QPX_API int qpx_try_accept(qpx_listener* listener, qpx_connection** connection);

/* Returns a descriptor for poll(), readable if qpx_try_accept() must be called. Do not read it. */
QPX_API int qpx_listener_fd(const qpx_listener* listener);

/* Ends the waiting qpx_accept(), or the next one, with QPX_ECANCELLED. Thread-safe and
 * async-signal-safe. */
QPX_API void qpx_listener_cancel(qpx_listener* listener);

/*
 * Returns why clients were turned away since the last call.
 * @lines: one line of text for each, to be freed by free(); NULL if there were none.
 */
QPX_API int qpx_listener_turned_away(qpx_listener* listener, char** lines);

/* Returns the TCP port, host byte order. */
QPX_API uint16_t qpx_listener_port(const qpx_listener* listener);

/* Closes and frees the listener; NULL is ignored. Accepted connections stay open. */
QPX_API void qpx_listener_close(qpx_listener* listener);

/*
 * Sends this side's endpoints and receives the peer's. Both sides must call it; it returns when
 * both have accepted the other's endpoints.
 * @mine: @count endpoints. The peer must send the same number, except for UD.
 * @theirs: an array of *@their_count, to be freed by qpx_endpoints_free().
 * Returns 0, -QPX_EREFUSED with the reason if the endpoints do not match, -QPX_ETIMEOUT,
 * -QPX_EPEERGONE, -QPX_ELIMIT.
 */
QPX_API int qpx_exchange(qpx_connection* connection, const struct qpx_endpoint* mine, size_t count,
                         struct qpx_endpoint** theirs, size_t* their_count);

/*
 * Serializes an endpoint, for transport by MPI, a key-value store or a file.
 * @bytes: the result, *@length bytes, to be freed by free().
 * Returns 0, -QPX_EARGUMENT if the values are not valid for a QP.
 */
QPX_API int qpx_endpoint_pack(const struct qpx_endpoint* endpoint, void** bytes, size_t* length);

/*
 * The inverse of qpx_endpoint_pack().
 * @endpoint: the result, to be freed by qpx_endpoints_free(endpoint, 1).
 * Returns 0, -QPX_EPROTOCOL if the bytes are not an endpoint, -QPX_ELIMIT.
 */
QPX_API int qpx_endpoint_unpack(const void* bytes, size_t length, struct qpx_endpoint** endpoint);

/*
 * Decides which of two sides connects and which accepts, if both could do either.
 * @mine, @theirs: different names that both sides know, such as ranks or host:port.
 * Returns 1 if this side connects, 0 if the other does, -QPX_EARGUMENT if the names are equal.
 */
QPX_API int qpx_should_connect(const char* mine, const char* theirs);

/* Frees endpoints returned by this library. @count: as returned with them. NULL is ignored. */
QPX_API void qpx_endpoints_free(struct qpx_endpoint* endpoints, size_t count);

/*
 * Sends one message of the application.
 * @message: @length bytes; may be NULL when @length is 0.
 * Returns 0, -QPX_ELIMIT if the peer accepts no message of this size, -QPX_ETIMEOUT,
 * -QPX_EPEERGONE.
 */
QPX_API int qpx_send(qpx_connection* connection, const void* message, size_t length);

/*
 * Waits for the next message. Messages arrive whole and in order.
 * @message: the result, *@length bytes, to be freed by free(); NULL for an empty message.
 * Returns 0, -QPX_ETIMEOUT (the connection stays usable), -QPX_ECANCELLED, -QPX_EPEERGONE.
 */
QPX_API int qpx_receive(qpx_connection* connection, void** message, size_t* length);

/* Like qpx_receive() without waiting. Returns 1 with the message, 0 if none is there (wait until
 * qpx_fd() is readable), or an error. */
QPX_API int qpx_try_receive(qpx_connection* connection, void** message, size_t* length);

/* Ends the waiting call, or the next one that would wait, with QPX_ECANCELLED. Thread-safe and
 * async-signal-safe. */
QPX_API void qpx_cancel(qpx_connection* connection);

/* Waits until the peer has called it as often. Returns 0, -QPX_ETIMEOUT, -QPX_EPEERGONE. */
QPX_API int qpx_barrier(qpx_connection* connection);

/* Sets the timeout of later calls. @timeout_ms: milliseconds; negative: none. */
QPX_API void qpx_set_timeout(qpx_connection* connection, int timeout_ms);

/* Sends the reason and closes: the peer's next call fails with QPX_EREFUSED and this text.
 * @reason: UTF-8; NULL: none. */
QPX_API void qpx_refuse(qpx_connection* connection, const char* reason);

/* Closes in an orderly way and frees the connection; NULL is ignored. */
QPX_API void qpx_close(qpx_connection* connection);

/* Returns the name that the peer claims, not authenticated. Never NULL; valid until qpx_close(). */
QPX_API const char* qpx_peer_name(const qpx_connection* connection);
/* Returns the peer's numeric address, and this host's. Never NULL; valid until qpx_close(). */
QPX_API const char* qpx_peer_address(const qpx_connection* connection);
QPX_API const char* qpx_local_address(const qpx_connection* connection);

/* Returns the identity authenticated by TLS, or "" without TLS. Valid until qpx_close(). */
QPX_API const char* qpx_peer_identity(const qpx_connection* connection);

/* Returns 1 with TLS, else 0: then warn the user that rkeys are sent in clear. */
QPX_API int qpx_secure(const qpx_connection* connection);

/* Returns a descriptor for poll(), readable if qpx_try_receive() must be called, or -1. Do not read
 * it. Over cm:// it wakes every few milliseconds. */
QPX_API int qpx_fd(const qpx_connection* connection);

struct ibv_qp;
/*
 * Describes a queue pair for its peer.
 * @port: of the device, from 1.
 * @gid_index: the GID to use, or -1 to choose one.
 * @connection: the GID that reaches this peer is preferred; may be NULL.
 * @local: filled in, with a random PSN. `regions` and `application` are NULL: set them as needed.
 * @chosen_gid_index: the GID index that is used, an argument of the calls below.
 * Returns 0, -QPX_EARGUMENT with a list of the table if no GID fits, -QPX_EDEVICE.
 */
QPX_API int qpx_describe(struct ibv_qp* qp, uint8_t port, int gid_index,
                         const qpx_connection* connection, struct qpx_endpoint* local,
                         int* chosen_gid_index);

/* Options of qpx_describe_qp(); begin with QPX_DESCRIBE_OPTIONS_INIT. */
struct qpx_describe_options {
    size_t struct_size;
    int gid_index;     /* this index only; -1: any */
    int family;        /* AF_INET or AF_INET6 only; 0: any */
    const char* peer;  /* numeric address that the GID must reach; NULL: that of the connection */
    const char* local; /* numeric address of this host to prefer; NULL: that of the connection */
    int max_rd_atomic; /* -1: the device's limit */
    int max_dest_rd_atomic; /* -1: the device's limit */
    uint32_t mtu;           /* bytes; 0: the port's active MTU */
    uint32_t qkey;          /* UD; 0: random */
    uint8_t port;           /* from 1 */
    uint8_t allow_roce_v1;  /* not 0: allows a RoCE v1 GID if there is none of v2 */
    uint8_t reserved[6];    /* 0 */
};
#define QPX_DESCRIBE_OPTIONS_INIT                                                     \
    {                                                                                 \
        sizeof(struct qpx_describe_options), -1, 0, NULL, NULL, -1, -1, 0, 0, 1, 0, { \
            0, 0, 0, 0, 0, 0                                                          \
        }                                                                             \
    }

/* Like qpx_describe() with all options. @options: NULL for the
 * defaults. @connection: may be NULL.
 */
QPX_API int qpx_describe_qp(struct ibv_qp* qp, const struct qpx_describe_options* options,
                            const qpx_connection* connection, struct qpx_endpoint* local,
                            int* chosen_gid_index);

/*
 * Like qpx_describe_qp(), for languages that hide the pointers of verbs.
 * @device: name of the RDMA device. @qpn: number of the QP. @type: enum qpx_qp_type.
 */
QPX_API int qpx_describe_number(const char* device, uint32_t qpn, uint32_t type,
                                const struct qpx_describe_options* options,
                                const qpx_connection* connection, struct qpx_endpoint* local,
                                int* chosen_gid_index);

/*
 * Finds the two GIDs to use; both sides find the same pair, of the same RoCE version and family,
 * and of the same network if there is a common one. The calls below do this themselves; call it
 * only in a program that changes the QP's state itself.
 * @local, @gid_index: as returned by qpx_describe().
 * @remote: the peer's endpoint.
 * @mine: index in this host's table. @theirs: the peer's GID, 16 bytes.
 * Returns 0, -QPX_EARGUMENT with a text that lists both sides if no two fit.
 */
QPX_API int qpx_agree(const struct qpx_endpoint* local, int gid_index,
                      const struct qpx_endpoint* remote, int* mine, uint8_t* theirs);

/*
 * Takes a QP from RESET, or from INIT, where receives can already be posted, to RTS. Uses the
 * default path options and allows all remote access that the QP's type supports.
 * @local, @gid_index: as returned by qpx_describe().
 * @remote: the peer's endpoint.
 * Returns 0, -QPX_EDEVICE, -QPX_EARGUMENT.
 */
QPX_API int qpx_connect_qp(struct ibv_qp* qp, const struct qpx_endpoint* local, int gid_index,
                           const struct qpx_endpoint* remote);

/* Path options that each side sets independently; begin with QPX_PATH_OPTIONS_INIT. */
struct qpx_path_options {
    size_t struct_size;
    uint8_t timeout; /* 4.096 us * 2^timeout; 0: infinite */
    uint8_t retry_cnt;
    uint8_t rnr_retry;     /* 7: infinite */
    uint8_t min_rnr_timer; /* code of IBTA table 45 */
    uint8_t traffic_class; /* DSCP << 2 | ECN on RoCE v2 */
    uint8_t sl;
    uint8_t hop_limit;
    uint8_t static_rate;
    uint32_t flow_label;
    uint16_t pkey_index;
    uint16_t reserved;
    int access; /* qp_access_flags; -1: all that QP type and device allow */
    int grh;    /* 0, 1; -1: always on Ethernet, on InfiniBand if subnets differ */
};
#define QPX_PATH_OPTIONS_INIT \
    { sizeof(struct qpx_path_options), 14, 7, 7, 12, 0, 0, 64, 0, 0, 0, 0, -1, -1 }

/* Like qpx_connect_qp() with path options. @path: NULL for the defaults. */
QPX_API int qpx_connect_qp_path(struct ibv_qp* qp, const struct qpx_endpoint* local, int gid_index,
                                const struct qpx_endpoint* remote,
                                const struct qpx_path_options* path);
/*
 * Takes a QP from RESET to INIT, so that receives can be posted before qpx_connect_qp_path().
 * @path: NULL for the defaults. Returns 0, -QPX_EDEVICE.
 */
QPX_API int qpx_init_qp(struct ibv_qp* qp, const struct qpx_endpoint* local,
                        const struct qpx_path_options* path);

struct ibv_pd;
struct ibv_ah;
/*
 * Creates an address handle with which a UD QP sends to @remote.
 * @pd: that of the sending QP. @local, @gid_index: as returned by qpx_describe().
 * @path: NULL for the defaults.
 * @ah: the result, to be destroyed by ibv_destroy_ah().
 * Returns 0, -QPX_EDEVICE, -QPX_EARGUMENT.
 */
QPX_API int qpx_create_ah(struct ibv_pd* pd, const struct qpx_endpoint* local, int gid_index,
                          const struct qpx_endpoint* remote, const struct qpx_path_options* path,
                          struct ibv_ah** ah);

#ifdef __cplusplus
}
#endif

#endif /* QPX_QPX_H */
