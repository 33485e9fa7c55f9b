/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C interface of groups; qpx/group.h describes the calls. Errors are those of qpx.h. Timeouts
 * are milliseconds: 0 is the group's, negative is for ever.
 */
#ifndef QPX_QPX_GROUP_H
#define QPX_QPX_GROUP_H

#include "qpx/qpx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qpx_group qpx_group;

#define QPX_ANY_RANK 0xffffffffu

/* How to join. All zero but rank, or NULL, is the default; qpx.h says what `struct_size` is for. */
struct qpx_group_options {
    size_t struct_size;   /* sizeof(struct qpx_group_options), or 0 */
    uint32_t rank;        /* QPX_ANY_RANK: any that is free */
    uint32_t size;        /* 0: the job's, or an open group */
    int timeout_ms;       /* of each call; 0: 30 s; negative: for ever */
    int family;           /* AF_INET or AF_INET6 only; 0: both */
    int shrink;           /* not 0: go on without members that fail */
    const char* job;      /* when the URL names none */
    const char* name;     /* NULL: none */
    const char* security; /* as in struct qpx_options */
    int stop_on_signal;   /* not 0: a signal that meets a waiting call ends it: QPX_ECANCELLED */
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
    uint32_t incarnation; /* 1 for the first that had this rank */
    uint32_t state;       /* enum qpx_member_state */
    char name[256];
    char address[64]; /* as the service sees it, for people; may be empty */
};

enum qpx_event_kind { QPX_JOINED = 1, QPX_LEFT = 2, QPX_FAILED = 3, QPX_EVENTS_LOST = 4 };
struct qpx_group_event {
    uint32_t kind; /* enum qpx_event_kind */
    uint32_t rank;
    char name[256];
    char reason[256];
};

/*
 * What a launcher gave this process (mpirun, srun, torchrun): RANK and WORLD_SIZE,
 * OMPI_COMM_WORLD_*, PMI_*, SLURM_PROCID and SLURM_NTASKS, PALS_*. 1: there, 0: none, negative: no
 * number
 */
QPX_API int qpx_rank_from_environment(uint32_t* rank, uint32_t* size);
/* @url: qpxd://host:port/job, tcp://host:port/job (rank 0 serves), pmix: */
QPX_API int qpx_group_join(const char* url, const struct qpx_group_options* options,
                           qpx_group** group);
QPX_API uint32_t qpx_group_rank(const qpx_group* group);
QPX_API uint32_t qpx_group_size(const qpx_group* group); /* 0: open */
QPX_API int qpx_group_secure(const qpx_group* group);    /* 1: TLS */
QPX_API int qpx_group_fd(const qpx_group* group);        /* -1: none */

QPX_API int qpx_group_put(qpx_group* group, const char* key, const void* value, size_t length);
/* 1: put, 0: the key exists and keeps its value, negative: an error */
QPX_API int qpx_group_put_once(qpx_group* group, const char* key, const void* value, size_t length);
/* 1: as qpx_group_get(), 0: the key has not been put, negative: an error */
QPX_API int qpx_group_try_get(qpx_group* group, const char* key, void** value, size_t* length);
/* Waits until the key has been put. *@value is freed by free(); NULL for an empty one. */
QPX_API int qpx_group_get(qpx_group* group, const char* key, int timeout_ms, void** value,
                          size_t* length);
QPX_API int qpx_group_wait(qpx_group* group, const char* const* keys, size_t count, int timeout_ms);
QPX_API int qpx_group_add(qpx_group* group, const char* key, int64_t delta, int64_t* sum);
/* 1: it was there, 0: it was not, negative: an error */
QPX_API int qpx_group_erase(qpx_group* group, const char* key);

QPX_API int qpx_group_barrier(qpx_group* group, int timeout_ms);
/* *@all, by rank, is freed by one free(). */
QPX_API int qpx_group_all_gather(qpx_group* group, const void* mine, size_t length, int timeout_ms,
                                 struct qpx_rank_bytes** all, size_t* count);
/* Each named peer must name this member, too. *@theirs is freed by one free(). */
QPX_API int qpx_group_exchange_bytes(qpx_group* group, const struct qpx_rank_bytes* mine,
                                     size_t count, int timeout_ms, struct qpx_rank_bytes** theirs,
                                     size_t* their_count);
/* The same with endpoints; *@theirs is freed by qpx_rank_endpoints_free(). */
QPX_API int qpx_group_exchange(qpx_group* group, const struct qpx_rank_endpoint* mine, size_t count,
                               int timeout_ms, struct qpx_rank_endpoint** theirs,
                               size_t* their_count);
/* The same for those who are there: peers that left, failed or gave up are in *@gone, by rank,
 * which is freed by free(). */
QPX_API int qpx_group_exchange_some(qpx_group* group, const struct qpx_rank_endpoint* mine,
                                    size_t count, int timeout_ms, struct qpx_rank_endpoint** theirs,
                                    size_t* their_count, uint32_t** gone, size_t* gone_count);
QPX_API void qpx_rank_endpoints_free(struct qpx_rank_endpoint* endpoints, size_t count);

/* All that ever were, by rank. *@members is freed by free(). */
QPX_API int qpx_group_members(qpx_group* group, struct qpx_group_member** members, size_t* count);
/* Rank of a member by its name; waits for it. */
QPX_API int qpx_group_find(qpx_group* group, const char* name, int timeout_ms, uint32_t* rank);
/* The call that waits, or the next that would, gives QPX_ECANCELLED; the group can be used on. Any
 * thread, any signal handler. 0, or -QPX_EUNSUPPORTED for pmix: */
QPX_API int qpx_group_cancel(qpx_group* group);

/* 1: *@event is filled, 0: nothing has happened, negative: an error */
QPX_API int qpx_group_poll_event(qpx_group* group, struct qpx_group_event* event);
QPX_API int qpx_group_leave(qpx_group* group);
/* Leaves, if that has not been done, and frees. NULL is nothing. */
QPX_API void qpx_group_free(qpx_group* group);

#ifdef __cplusplus
}
#endif

#endif /* QPX_QPX_GROUP_H */
