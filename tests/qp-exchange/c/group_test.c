/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests qpx_group.h with two members; rank 0 serves. usage: qpx_c_group_test URL */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "qpx/qpx_group.h"

static const char* url;

#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition, \
                    qpx_last_error());                                                  \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static void exchange_endpoints(qpx_group* group, uint32_t me, uint32_t peer) {
    struct qpx_region region = {0x1000, 64, me, "inbox"};
    struct qpx_rank_endpoint mine = {.rank = peer, .endpoint = {.qpn = me + 1}};
    mine.endpoint.type = QPX_RC;
    mine.endpoint.mtu = 1024;
    mine.endpoint.port = 1;
    mine.endpoint.gid[0] = 0xfe;
    mine.endpoint.gid[15] = 1;
    mine.endpoint.regions = &region;
    mine.endpoint.region_count = 1;
    struct qpx_rank_endpoint* theirs = NULL;
    size_t count = 0;
    CHECK(qpx_group_exchange(group, &mine, 1, 0, &theirs, &count) == 0);
    CHECK(count == 1 && theirs[0].rank == peer && theirs[0].endpoint.qpn == peer + 1);
    CHECK(theirs[0].endpoint.region_count == 1 && theirs[0].endpoint.regions[0].rkey == peer);
    qpx_rank_endpoints_free(theirs, count);
}

static void exchange_with_some(qpx_group* group, uint32_t me, uint32_t peer) {
    struct qpx_rank_endpoint mine = {.rank = peer, .endpoint = {.qpn = me + 1}};
    mine.endpoint.type = QPX_UD;
    mine.endpoint.mtu = 1024;
    mine.endpoint.port = 1;
    mine.endpoint.gid[15] = 1;
    struct qpx_rank_endpoint* theirs = NULL;
    uint32_t* gone = NULL;
    size_t count = 0, gone_count = 7;
    CHECK(qpx_group_exchange_some(group, &mine, 1, 0, &theirs, &count, &gone, &gone_count) == 0);
    CHECK(count == 1 && theirs[0].endpoint.qpn == peer + 1 && gone_count == 0);
    qpx_rank_endpoints_free(theirs, count);
    free(gone);
}

static void* member(void* argument) {
    const uint32_t me = argument != NULL, peer = !me;
    struct qpx_group_options options = QPX_GROUP_OPTIONS_INIT;
    options.rank = me;
    options.size = 2;
    options.name = me == 0 ? "zero" : "one";
    qpx_group* group = NULL;
    CHECK(qpx_group_join(url, &options, &group) == 0);
    CHECK(qpx_group_rank(group) == me && qpx_group_size(group) == 2);
    CHECK(qpx_group_secure(group) == 0 && qpx_group_fd(group) >= 0);
    if (me == 0) {
        CHECK(qpx_group_put(group, "k", "value", 5) == 0);
        CHECK(qpx_group_put(group, "empty", NULL, 0) == 0);
    }
    const char* keys[] = {"k", "empty"};
    CHECK(qpx_group_wait(group, keys, 2, 0) == 0);
    void* value = NULL;
    size_t length = 0;
    CHECK(qpx_group_get(group, "k", 0, &value, &length) == 0);
    CHECK(length == 5 && memcmp(value, "value", 5) == 0);
    free(value);
    CHECK(qpx_group_get(group, "empty", 0, &value, &length) == 0 && length == 0 && value == NULL);
    CHECK(qpx_group_get(group, "nobody", 20, &value, &length) == -QPX_ETIMEOUT);
    CHECK(strstr(qpx_last_error(), "nobody has put 'nobody'") != NULL);
    CHECK(qpx_group_put(group, NULL, "x", 1) == -QPX_EARGUMENT);

    int64_t sum = 0;
    CHECK(qpx_group_add(group, "n", 21, &sum) == 0);
    CHECK(qpx_group_barrier(group, 0) == 0);
    CHECK(qpx_group_add(group, "n", 0, &sum) == 0 && sum == 42);
    CHECK(qpx_group_barrier(group, 0) == 0);
    if (me == 0) {
        CHECK(qpx_group_erase(group, "n") == 1);
        CHECK(qpx_group_erase(group, "n") == 0);
    }

    struct qpx_rank_bytes* all = NULL;
    size_t count = 0;
    CHECK(qpx_group_try_get(group, "k", &value, &length) == 1 && length == 5);
    free(value);
    CHECK(qpx_group_try_get(group, "nobody", &value, &length) == 0);
    CHECK(qpx_group_put_once(group, "k", "other", 5) == 0);
    uint32_t found = 7;
    CHECK(qpx_group_find(group, me == 0 ? "one" : "zero", 0, &found) == 0 && found == peer);
    struct qpx_group_member* members = NULL;
    CHECK(qpx_group_members(group, &members, &count) == 0 && count == 2);
    CHECK(members[0].state == QPX_HERE && strcmp(members[1].name, "one") == 0);
    free(members);
    exchange_with_some(group, me, peer);
    CHECK(qpx_group_all_gather(group, &me, sizeof me, 0, &all, &count) == 0);
    CHECK(count == 2 && all[1].rank == 1 && all[1].length == sizeof me);
    CHECK(*(const char*)all[0].data == 0);
    free(all);
    const struct qpx_rank_bytes mine = {peer, "to you", 6};
    struct qpx_rank_bytes* theirs = NULL;
    CHECK(qpx_group_exchange_bytes(group, &mine, 1, 0, &theirs, &count) == 0);
    CHECK(count == 1 && theirs[0].rank == peer && memcmp(theirs[0].data, "to you", 6) == 0);
    free(theirs);
    exchange_endpoints(group, me, peer);

    if (me == 1) {
        CHECK(qpx_group_leave(group) == 0);
    } else {
        struct qpx_group_event event = {0};
        int status = 0;
        for (int i = 0; i < 1000 && !(status == 1 && event.kind == QPX_LEFT); ++i) {
            status = qpx_group_poll_event(group, &event);
            CHECK(status >= 0);
            if (status == 0) {
                /* The service reports leavers within 20 ms; a barrier alone would be an error. */
                CHECK(qpx_group_get(group, "never", 10, &value, &length) == -QPX_ETIMEOUT);
            }
        }
        CHECK(event.kind == QPX_LEFT && event.rank == 1);
        CHECK(qpx_group_cancel(group) == 0);
        CHECK(qpx_group_get(group, "never", -1, &value, &length) == -QPX_ECANCELLED);
        CHECK(qpx_group_leave(group) == 0);
    }
    qpx_group_free(group);
    return NULL;
}

static void without_descriptors(void) {
    struct qpx_group_options options = QPX_GROUP_OPTIONS_INIT;
    options.rank = 0;
    options.size = 1;
    qpx_group* group = NULL;
    CHECK(qpx_group_join(url, &options, &group) == 0);
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const int free_descriptor = dup(2);
    CHECK(free_descriptor >= 0);
    close(free_descriptor);
    const struct rlimit none = {(rlim_t)free_descriptor, before.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK(qpx_group_fd(group) == -1);
    CHECK(strstr(qpx_last_error(), "open files") != NULL);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(qpx_group_fd(group) >= 0);
    qpx_group_free(group);
}

static void launched(void) {
    uint32_t rank = 9, size = 9;

    unsetenv("RANK");
    CHECK(qpx_rank_from_environment(&rank, &size) >= 0);
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "8", 1);
    CHECK(qpx_rank_from_environment(&rank, &size) == 1 && rank == 3 && size == 8);
    setenv("RANK", "three", 1);
    CHECK(qpx_rank_from_environment(&rank, &size) == -QPX_EARGUMENT);
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
}

int main(int argc, char** argv) {
    url = argc > 1 ? argv[1] : "tcp://127.0.0.1:18919/c";
    qpx_group* group = NULL;
    CHECK(qpx_group_join("http://nowhere/", NULL, &group) == -QPX_EARGUMENT);
    launched();
    pthread_t other;
    static char one; /* any pointer but NULL is rank 1 */
    CHECK(pthread_create(&other, NULL, member, &one) == 0);
    member(NULL);
    pthread_join(other, NULL);
    without_descriptors();
    qpx_group_free(NULL);
    puts("qpx_group.h: all is well");
    return 0;
}
