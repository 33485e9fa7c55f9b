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
    QPX_EAUTH = 7,         /* TLS failed, or the other side has the wrong identity */
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

/* Returns the library's version, as "0.1.0". Never NULL. */
QPX_API const char* qpx_version(void);

/* Returns what an error code means in general. @code: QPX_E... or its negative. Never NULL. */
QPX_API const char* qpx_strerror(int code);

/* Returns the text of the last failed call of this thread: what happened and what to do. Never
 * NULL; valid until the thread's next failed call. */
QPX_API const char* qpx_last_error(void);

/* Returns a number that belongs to that text: errno of the device for QPX_EDEVICE, EINTR for
 * QPX_ECANCELLED by a signal, the reason of docs/reference/qp-exchange-protocol.md for
 * QPX_EREFUSED; else 0. */
QPX_API int qpx_last_detail(void);

/*
 * Connects to a listening peer, with TLS if @options ask for it.
 * @url: tcp://host:port, or cm://host:port through librdmacm.
 * @options: NULL for the defaults.
 * @connection: the result, for qpx_close().
 * Returns 0, -QPX_ERESOLVE, -QPX_EREFUSED, -QPX_ETIMEOUT, -QPX_EAUTH, -QPX_EVERSION,
 * -QPX_EPROTOCOL, -QPX_EUNSUPPORTED (no librdmacm).
 */
QPX_API int qpx_connect(const char* url, const struct qpx_options* options,
                        qpx_connection** connection);

/*
 * Listens for peers.
 * @url: tcp://address:port; tcp://:0 is any free port on all addresses, see qpx_listener_port().
 * @options: for all connections; NULL for the defaults.
 * @listener: the result, for qpx_listener_close().
 * Returns 0, -QPX_ERESOLVE, -QPX_EREFUSED when the port is in use.
 */
QPX_API int qpx_listen(const char* url, const struct qpx_options* options, qpx_listener** listener);

/*
 * Waits for the next client whose handshake is done.
 * @timeout_ms: milliseconds; negative: for ever.
 * @connection: the result, for qpx_close().
 * Returns 0, -QPX_ETIMEOUT, -QPX_ECANCELLED.
 */
QPX_API int qpx_accept(qpx_listener* listener, int timeout_ms, qpx_connection** connection);

/* The same without waiting. Returns 1 with *@connection, 0 when no handshake is done (wait until
 * qpx_listener_fd() is readable), or an error. */
QPX_API int qpx_try_accept(qpx_listener* listener, qpx_connection** connection);

/* Returns a descriptor for poll(): readable when qpx_try_accept() has work. Do not read it. */
QPX_API int qpx_listener_fd(const qpx_listener* listener);

/* Ends the waiting qpx_accept(), or the next one, with QPX_ECANCELLED. May be called from any
 * thread and any signal handler. */
QPX_API void qpx_listener_cancel(qpx_listener* listener);

/*
 * Tells why clients were turned away since the last call.
 * @lines: one line of text for each, to be freed by free(); NULL when there were none.
 */
QPX_API int qpx_listener_turned_away(qpx_listener* listener, char** lines);

/* Returns the port that it listens on. */
QPX_API uint16_t qpx_listener_port(const qpx_listener* listener);

/* Closes and frees; NULL is ignored. Accepted connections stay. */
QPX_API void qpx_listener_close(qpx_listener* listener);

/*
 * Gives the peer this side's endpoints and gets the peer's. Both sides must call it; it returns
 * when both have accepted the other's endpoints.
 * @mine: @count endpoints. The peer gives as many; only for UD the numbers may differ.
 * @theirs: an array of *@their_count, to be freed by qpx_endpoints_free().
 * Returns 0, -QPX_EREFUSED with the reason when the endpoints do not fit, -QPX_ETIMEOUT,
 * -QPX_EPEERGONE, -QPX_ELIMIT.
 */
QPX_API int qpx_exchange(qpx_connection* connection, const struct qpx_endpoint* mine, size_t count,
                         struct qpx_endpoint** theirs, size_t* their_count);

/*
 * Writes an endpoint as bytes, to be carried by MPI, a key-value store or a file.
 * @bytes: the result, *@length bytes, to be freed by free().
 * Returns 0, -QPX_EARGUMENT when no QP can have these values.
 */
QPX_API int qpx_endpoint_pack(const struct qpx_endpoint* endpoint, void** bytes, size_t* length);

/*
 * The inverse of qpx_endpoint_pack().
 * @endpoint: the result, to be freed by qpx_endpoints_free(endpoint, 1).
 * Returns 0, -QPX_EPROTOCOL when the bytes are not an endpoint, -QPX_ELIMIT.
 */
QPX_API int qpx_endpoint_unpack(const void* bytes, size_t length, struct qpx_endpoint** endpoint);

/*
 * Decides which of two sides connects and which accepts, when both could do either.
 * @mine, @theirs: different names that both sides know, such as ranks or host:port.
 * Returns 1: this side connects, 0: the other does, -QPX_EARGUMENT: the names are equal.
 */
QPX_API int qpx_should_connect(const char* mine, const char* theirs);

/* Frees endpoints of this library. @count: as it was given with them. NULL is ignored. */
QPX_API void qpx_endpoints_free(struct qpx_endpoint* endpoints, size_t count);

/*
 * Sends one message of the application.
 * @message: @length bytes; may be NULL when @length is 0.
 * Returns 0, -QPX_ELIMIT when the peer takes no message of this size, -QPX_ETIMEOUT,
 * -QPX_EPEERGONE.
 */
QPX_API int qpx_send(qpx_connection* connection, const void* message, size_t length);

/*
 * Waits for the next message. Messages arrive whole and in order.
 * @message: the result, *@length bytes, to be freed by free(); NULL for an empty message.
 * Returns 0, -QPX_ETIMEOUT (the connection can be used on), -QPX_ECANCELLED, -QPX_EPEERGONE.
 */
QPX_API int qpx_receive(qpx_connection* connection, void** message, size_t* length);

/* The same without waiting. Returns 1 with the message, 0 when none is here (wait until qpx_fd() is
 * readable), or an error. */
QPX_API int qpx_try_receive(qpx_connection* connection, void** message, size_t* length);

/* Ends the call that waits, or the next that would wait, with QPX_ECANCELLED. May be called from
 * any thread and any signal handler. */
QPX_API void qpx_cancel(qpx_connection* connection);

/* Returns 0 when the peer has called it as often as this side; or -QPX_ETIMEOUT, -QPX_EPEERGONE. */
QPX_API int qpx_barrier(qpx_connection* connection);

/* Sets the time limit of later calls. @timeout_ms: milliseconds; negative: none. */
QPX_API void qpx_set_timeout(qpx_connection* connection, int timeout_ms);

/* Ends the conversation: the peer's next call fails with QPX_EREFUSED and this text.
 * @reason: UTF-8; NULL: none. */
QPX_API void qpx_refuse(qpx_connection* connection, const char* reason);

/* Ends the conversation in order and frees; NULL is ignored. */
QPX_API void qpx_close(qpx_connection* connection);

/* Returns the peer's own name for itself. Never NULL; valid until qpx_close(). */
QPX_API const char* qpx_peer_name(const qpx_connection* connection);
/* Returns the peer's numeric address, and this host's. Never NULL; valid until qpx_close(). */
QPX_API const char* qpx_peer_address(const qpx_connection* connection);
QPX_API const char* qpx_local_address(const qpx_connection* connection);

/* Returns the identity that TLS has proved, or "" without TLS. Valid until qpx_close(). */
QPX_API const char* qpx_peer_identity(const qpx_connection* connection);

/* Returns 1 with TLS, else 0: then tell the user that rkeys cross the network in clear. */
QPX_API int qpx_secure(const qpx_connection* connection);

/* Returns a descriptor for poll(), readable when qpx_try_receive() has something to report, or -1.
 * Do not read it. Over cm:// it also wakes every few milliseconds. */
QPX_API int qpx_fd(const qpx_connection* connection);

struct ibv_qp;
/*
 * Describes a queue pair for its peer.
 * @port: of the device, from 1.
 * @gid_index: the GID to use, or -1 for the one that fits best.
 * @connection: prefers the GID that reaches this peer; may be NULL.
 * @local: filled in, with a random PSN. `regions` and `application` are NULL: set them as needed.
 * @chosen_gid_index: the GID index that is used; give it to the calls below.
 * Returns 0, -QPX_EARGUMENT with a list of the table when no GID fits, -QPX_EDEVICE.
 */
QPX_API int qpx_describe(struct ibv_qp* qp, uint8_t port, int gid_index,
                         const qpx_connection* connection, struct qpx_endpoint* local,
                         int* chosen_gid_index);

/* Options of qpx_describe_qp(); begin with QPX_DESCRIBE_OPTIONS_INIT. */
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

/* As qpx_describe(), with all options. @options: NULL for the defaults. @connection: may be NULL.
 */
QPX_API int qpx_describe_qp(struct ibv_qp* qp, const struct qpx_describe_options* options,
                            const qpx_connection* connection, struct qpx_endpoint* local,
                            int* chosen_gid_index);

/*
 * As qpx_describe_qp(), for languages that hide the pointers of verbs.
 * @device: name of the RDMA device. @qpn: number of the QP. @type: enum qpx_qp_type.
 */
QPX_API int qpx_describe_number(const char* device, uint32_t qpn, uint32_t type,
                                const struct qpx_describe_options* options,
                                const qpx_connection* connection, struct qpx_endpoint* local,
                                int* chosen_gid_index);

/*
 * Finds the two GIDs to use; both sides find the same pair. They have the same RoCE version and
 * family, and belong to one network if there is a common one. The calls below use it; a program
 * that changes the QP's state itself calls it.
 * @local, @gid_index: as qpx_describe() filled them.
 * @remote: the peer's endpoint.
 * @mine: index in this host's table. @theirs: the peer's GID, 16 bytes.
 * Returns 0, -QPX_EARGUMENT with a text that lists both sides when no two fit.
 */
QPX_API int qpx_agree(const struct qpx_endpoint* local, int gid_index,
                      const struct qpx_endpoint* remote, int* mine, uint8_t* theirs);

/*
 * Takes a QP from RESET, or from INIT, where receives can be posted already, to RTS. Uses the
 * default path options and allows all remote access that the QP's type has.
 * @local, @gid_index: as qpx_describe() filled them.
 * @remote: the peer's endpoint.
 * Returns 0, -QPX_EDEVICE, -QPX_EARGUMENT.
 */
QPX_API int qpx_connect_qp(struct ibv_qp* qp, const struct qpx_endpoint* local, int gid_index,
                           const struct qpx_endpoint* remote);

/* Options of the path that each side sets for itself; begin with QPX_PATH_OPTIONS_INIT. */
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

/* As qpx_connect_qp(), with path options. @path: NULL for the defaults. */
QPX_API int qpx_connect_qp_path(struct ibv_qp* qp, const struct qpx_endpoint* local, int gid_index,
                                const struct qpx_endpoint* remote,
                                const struct qpx_path_options* path);
/*
 * Takes a QP from RESET to INIT, so that receives can be posted before qpx_connect_qp_path().
 * @path: as there; NULL for the defaults. Returns 0, -QPX_EDEVICE.
 */
QPX_API int qpx_init_qp(struct ibv_qp* qp, const struct qpx_endpoint* local,
                        const struct qpx_path_options* path);

struct ibv_pd;
struct ibv_ah;
/*
 * Makes an address handle with which a UD QP sends to @remote.
 * @pd: of the sending QP. @local, @gid_index: as qpx_describe() filled them.
 * @path: NULL for the defaults.
 * @ah: the result, for ibv_destroy_ah().
 * Returns 0, -QPX_EDEVICE, -QPX_EARGUMENT.
 */
QPX_API int qpx_create_ah(struct ibv_pd* pd, const struct qpx_endpoint* local, int gid_index,
                          const struct qpx_endpoint* remote, const struct qpx_path_options* path,
                          struct ibv_ah** ah);

#ifdef __cplusplus
}
#endif

#endif /* QPX_QPX_H */
