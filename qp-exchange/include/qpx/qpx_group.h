/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C interface of groups; qpx/group.h describes the calls. Errors are those of qpx.h. Timeouts
 * are in milliseconds: 0 selects that of the group, negative none.
 */
#ifndef QPX_QPX_GROUP_H
#define QPX_QPX_GROUP_H

#include "qpx/qpx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qpx_group qpx_group;

#define QPX_ANY_RANK 0xffffffffu

/* Options of qpx_group_join(); begin with QPX_GROUP_OPTIONS_INIT. qpx.h describes `struct_size`. */
struct qpx_group_options {
    size_t struct_size;   /* sizeof(struct qpx_group_options), or 0 */
    uint32_t rank;        /* QPX_ANY_RANK: any free rank */
    uint32_t size;        /* 0: that of the job, or an open group */
    int timeout_ms;       /* of each call; 0: 30 s; negative: none */
    int family;           /* AF_INET or AF_INET6 only; 0: both */
    int shrink;           /* not 0: go on without members that fail */
    const char* job;      /* used if the URL has none */
    const char* name;     /* NULL: none */
    const char* security; /* as in struct qpx_options */
    int stop_on_signal;   /* not 0: a signal ends a waiting call with QPX_ECANCELLED */
};
#define QPX_GROUP_OPTIONS_INIT \
    { sizeof(struct qpx_group_options), QPX_ANY_RANK, 0, 0, 0, 0, NULL, NULL, NULL, 0 }

/* Bytes for, or from, one rank. */
struct qpx_rank_bytes {
    uint32_t rank;
    const void* data;
    size_t length;
};
struct qpx_rank_endpoint {
    uint32_t rank;
    struct qpx_endpoint endpoint;
};

enum qpx_member_state { QPX_HERE = 0, QPX_HAS_LEFT = 1, QPX_HAS_FAILED = 2 };
struct qpx_group_member {
    uint32_t rank;
    uint32_t incarnation; /* 1 for the first member with this rank */
    uint32_t state;       /* enum qpx_member_state */
    char name[256];
    char address[64]; /* as the service sees it, for display; may be empty */
};

enum qpx_event_kind { QPX_JOINED = 1, QPX_LEFT = 2, QPX_FAILED = 3, QPX_EVENTS_LOST = 4 };
struct qpx_group_event {
    uint32_t kind; /* enum qpx_event_kind */
    uint32_t rank;
    char name[256];
    char reason[256];
};

/*
 * Reads rank and size from the environment variables of a launcher (mpirun, srun, torchrun): RANK
 * and WORLD_SIZE, OMPI_COMM_WORLD_*, PMI_*, SLURM_PROCID and SLURM_NTASKS, PALS_*.
 * Returns 1 if they are set, 0 if not, -QPX_EARGUMENT if one is not a number.
 */
QPX_API int qpx_rank_from_environment(uint32_t* rank, uint32_t* size);

/*
 * Joins a group. With tcp:// rank 0 serves the group.
 * @url: qpxd://host:port/job, tcp://host:port/job, pmix:
 * @options: NULL for the defaults; the URL's query overrides them.
 * @group: the result, to be freed by qpx_group_free().
 * Returns 0, -QPX_EARGUMENT, -QPX_ERESOLVE, -QPX_EREFUSED, -QPX_ETIMEOUT, -QPX_EAUTH,
 * -QPX_EUNSUPPORTED if this build lacks the back end.
 */
QPX_API int qpx_group_join(const char* url, const struct qpx_group_options* options,
                           qpx_group** group);

/* Returns this member's rank, from 0. */
QPX_API uint32_t qpx_group_rank(const qpx_group* group);
/* Returns the job's number of ranks; 0: an open group. */
QPX_API uint32_t qpx_group_size(const qpx_group* group);
/* Returns 1 with TLS, else 0. */
QPX_API int qpx_group_secure(const qpx_group* group);

/* Returns a descriptor for poll(), readable if qpx_group_poll_event() may have an event; -1 if the
 * back end has none or the process has none left (qpx_last_error()). Do not read it. */
QPX_API int qpx_group_fd(const qpx_group* group);

/*
 * Sets a value that all members can read.
 * @key: text. @value: @length bytes; may be NULL when @length is 0.
 * Returns 0, -QPX_ELIMIT.
 */
QPX_API int qpx_group_put(qpx_group* group, const char* key, const void* value, size_t length);

/* Like qpx_group_put(), unless the key exists. Returns 1 if it was set, 0 if it existed. */
QPX_API int qpx_group_put_once(qpx_group* group, const char* key, const void* value, size_t length);

/* Like qpx_group_get() without waiting. Returns 1 with the value, 0 if the key is not set. */
QPX_API int qpx_group_try_get(qpx_group* group, const char* key, void** value, size_t* length);

/*
 * Waits until the key is set and reads it.
 * @timeout_ms: milliseconds, here and below; 0: that of the group; negative: none.
 * @value: the result, *@length bytes, to be freed by free(); NULL for an empty one.
 * Returns 0, -QPX_ETIMEOUT.
 */
QPX_API int qpx_group_get(qpx_group* group, const char* key, int timeout_ms, void** value,
                          size_t* length);

/* Waits until all @count keys are set. Returns 0, -QPX_ETIMEOUT. */
QPX_API int qpx_group_wait(qpx_group* group, const char* const* keys, size_t count, int timeout_ms);

/* Adds @delta to a number, initially 0 and stored as decimal text. @sum: the new value. */
QPX_API int qpx_group_add(qpx_group* group, const char* key, int64_t delta, int64_t* sum);

/* Removes a key. Returns 1 if it existed, else 0. */
QPX_API int qpx_group_erase(qpx_group* group, const char* key);

/* Waits until all members have called it. Returns 0, -QPX_ETIMEOUT with the missing ranks in
 * qpx_last_error(), -QPX_EPEERGONE if a member has failed. */
QPX_API int qpx_group_barrier(qpx_group* group, int timeout_ms);

/*
 * Gathers the bytes of all members at all members.
 * @timeout_ms: as for qpx_group_get().
 * @all: an array of *@count items, indexed by rank, to be freed by one free().
 * Returns what qpx_group_barrier() returns.
 */
QPX_API int qpx_group_all_gather(qpx_group* group, const void* mine, size_t length, int timeout_ms,
                                 struct qpx_rank_bytes** all, size_t* count);

/*
 * Sends bytes to each named peer and receives its bytes for this member. Each named peer must name
 * this member, too.
 * @mine: @count items, one for each peer.
 * @theirs: an array of *@their_count by rank, to be freed by one free().
 * Returns 0, -QPX_ETIMEOUT, -QPX_EPEERGONE if a peer has left, failed or given up.
 */
QPX_API int qpx_group_exchange_bytes(qpx_group* group, const struct qpx_rank_bytes* mine,
                                     size_t count, int timeout_ms, struct qpx_rank_bytes** theirs,
                                     size_t* their_count);

/* Like qpx_group_exchange_bytes(), with endpoints. @theirs: freed by qpx_rank_endpoints_free(). */
QPX_API int qpx_group_exchange(qpx_group* group, const struct qpx_rank_endpoint* mine, size_t count,
                               int timeout_ms, struct qpx_rank_endpoint** theirs,
                               size_t* their_count);

/*
 * Like qpx_group_exchange(), but without an error for peers that are gone.
 * @gone: ranks of peers that have left, failed or given up, *@gone_count of them, to be freed by
 * free(); their endpoints are missing in *@theirs.
 */
QPX_API int qpx_group_exchange_some(qpx_group* group, const struct qpx_rank_endpoint* mine,
                                    size_t count, int timeout_ms, struct qpx_rank_endpoint** theirs,
                                    size_t* their_count, uint32_t** gone, size_t* gone_count);

/* Frees the endpoints of an exchange. @count: as returned with them. NULL is ignored. */
QPX_API void qpx_rank_endpoints_free(struct qpx_rank_endpoint* endpoints, size_t count);

/* Lists all members that ever joined, by rank. @members: *@count items, to be freed by free(). */
QPX_API int qpx_group_members(qpx_group* group, struct qpx_group_member** members, size_t* count);

/* Waits for the member with this name. @rank: its rank. Returns 0, -QPX_ETIMEOUT. */
QPX_API int qpx_group_find(qpx_group* group, const char* name, int timeout_ms, uint32_t* rank);

/* Ends the waiting call, or the next one that would wait, with QPX_ECANCELLED; the group stays
 * usable. Thread-safe and async-signal-safe. Returns 0, or -QPX_EUNSUPPORTED for pmix: */
QPX_API int qpx_group_cancel(qpx_group* group);

/* Takes the next event without waiting. Returns 1 with *@event, 0 if there is none. */
QPX_API int qpx_group_poll_event(qpx_group* group, struct qpx_group_event* event);

/* Leaves the group after the other members have received what this one sent. Rank 0 of a tcp://
 * group serves until the others have left. Returns 0, -QPX_ETIMEOUT. */
QPX_API int qpx_group_leave(qpx_group* group);

/* Frees the group, and leaves it unless that was done; NULL is ignored. */
QPX_API void qpx_group_free(qpx_group* group);

#ifdef __cplusplus
}
#endif

#endif /* QPX_QPX_GROUP_H */
