/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the C interface: the parent process listens, its child connects, and both check results. */
#include <qpx/qpx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "%s:%d: %s is false; last error: %s\n", __FILE__, __LINE__, \
                    #condition, qpx_last_error());                                      \
            failures++;                                                                 \
        }                                                                               \
    } while (0)

static struct qpx_endpoint endpoint(uint32_t qpn) {
    struct qpx_endpoint e;

    memset(&e, 0, sizeof(e));
    strcpy(e.device, "test0");
    e.gid[10] = e.gid[11] = 0xff;
    e.gid[12] = 10;
    e.gid[15] = (uint8_t)qpn;
    e.qpn = qpn;
    e.mtu = 1024;
    e.type = QPX_RC;
    e.port = 1;
    return e;
}

static void talk(qpx_connection* c, uint32_t mine, uint32_t expected) {
    struct qpx_region regions[2] = {{0x1000, 64, mine, "first"}, {0x2000, 128, mine + 1, ""}};
    struct qpx_endpoint local[2], *remote = NULL;
    size_t count = 0, length = 1;
    void* message = NULL;

    local[0] = endpoint(mine);
    local[0].regions = regions;
    local[0].region_count = 2;
    local[1] = endpoint(mine + 1);
    local[1].application = "bytes";
    local[1].application_length = 5;
    CHECK(qpx_exchange(c, local, 2, &remote, &count) == 0);
    CHECK(count == 2);
    if (count == 2) {
        CHECK(remote[0].qpn == expected && remote[1].qpn == expected + 1);
        CHECK(remote[0].region_count == 2 && remote[0].regions[1].length == 128);
        CHECK(strcmp(remote[0].regions[0].tag, "first") == 0);
        CHECK(remote[1].application_length == 5 && memcmp(remote[1].application, "bytes", 5) == 0);
        CHECK(strcmp(remote[0].device, "test0") == 0);
    }
    qpx_endpoints_free(remote, count);
    CHECK(qpx_barrier(c) == 0);
    CHECK(qpx_send(c, "hello", 5) == 0);
    CHECK(qpx_receive(c, &message, &length) == 0);
    CHECK(length == 5 && memcmp(message, "hello", 5) == 0);
    free(message);
    CHECK(qpx_send(c, NULL, 0) == 0);
    CHECK(qpx_receive(c, &message, &length) == 0);
    CHECK(length == 0 && message == NULL);
    CHECK(qpx_secure(c) == 0 && strcmp(qpx_peer_identity(c), "") == 0);
    CHECK(strcmp(qpx_peer_address(c), "127.0.0.1") == 0);
    CHECK(qpx_fd(c) >= 0);
}

static void errors(void) {
    qpx_connection* c = NULL;
    qpx_listener* l = NULL;
    struct qpx_options insecure = {0};

    CHECK(qpx_connect("tcp://", NULL, &c) == -QPX_EARGUMENT);
    CHECK(strstr(qpx_last_error(), "host and port") != NULL);
    CHECK(qpx_connect(NULL, NULL, &c) == -QPX_EARGUMENT);
    CHECK(qpx_connect("qpxd://host:1", NULL, &c) == -QPX_EUNSUPPORTED);
    CHECK(qpx_connect("tcp://qpx.invalid:1", NULL, &c) == -QPX_ERESOLVE);
    insecure.security = "rot13";
    CHECK(qpx_listen("tcp://127.0.0.1:0", &insecure, &l) == -QPX_EARGUMENT);
    CHECK(qpx_last_detail() == 0);
    CHECK(strcmp(qpx_strerror(-QPX_ETIMEOUT), "timed out") == 0);
    CHECK(strcmp(qpx_strerror(1000), "unknown error") == 0);
    CHECK(strlen(qpx_version()) >= 5);
    CHECK(c == NULL && l == NULL);
    qpx_close(NULL);
    qpx_listener_close(NULL);
    qpx_endpoints_free(NULL, 3);
}

/* Options that the library does not know yet are refused unless they are zero. */
static void sizes_of_options(void) {
    struct {
        struct qpx_options known;
        long newer;
    } options = {QPX_OPTIONS_INIT, 0};
    qpx_listener* l = NULL;

    options.known.struct_size = sizeof(options);
    CHECK(qpx_listen("tcp://127.0.0.1:0", &options.known, &l) == 0);
    qpx_listener_close(l);
    options.newer = 1;
    CHECK(qpx_listen("tcp://127.0.0.1:0", &options.known, &l) == -QPX_EUNSUPPORTED);
    options.known.struct_size = 3;
    CHECK(qpx_listen("tcp://127.0.0.1:0", &options.known, &l) == -QPX_EARGUMENT);
}

static void endpoints_as_bytes(void) {
    const struct qpx_endpoint mine = endpoint(77);
    struct qpx_endpoint* back = NULL;
    void* bytes = NULL;
    size_t length = 0;

    CHECK(qpx_endpoint_pack(&mine, &bytes, &length) == 0 && length > 44);
    CHECK(qpx_endpoint_unpack(bytes, length, &back) == 0);
    CHECK(back && back->qpn == 77 && back->region_count == mine.region_count);
    qpx_endpoints_free(back, 1);
    CHECK(qpx_endpoint_unpack(bytes, length - 1, &back) == -QPX_EPROTOCOL);
    free(bytes);
    CHECK(qpx_should_connect("a", "b") == 1 && qpx_should_connect("b", "a") == 0);
    CHECK(qpx_should_connect("a", "a") == -QPX_EARGUMENT);
}

static struct qpx_candidate candidate(uint8_t net, uint8_t host, uint8_t type, uint8_t wish,
                                      int32_t index) {
    struct qpx_candidate c;

    memset(&c, 0, sizeof(c));
    c.gid[10] = c.gid[11] = 0xff;
    c.gid[12] = 10;
    c.gid[14] = net;
    c.gid[15] = host;
    c.type = type;
    c.wish = wish;
    c.prefix = 120;
    c.gid_index = index;
    return c;
}

/* Two networks on each side; neither side would choose the common one on its own. */
static void two_networks(struct qpx_endpoint* a, struct qpx_endpoint* b) {
    *a = endpoint(1);
    a->candidates[0] = candidate(1, 1, QPX_GID_ROCE_V2, QPX_GID_CHOSEN, 5);
    a->candidates[1] = candidate(2, 1, QPX_GID_ROCE_V2, QPX_GID_POSSIBLE, 9);
    a->candidate_count = 2;
    memcpy(a->gid, a->candidates[0].gid, sizeof(a->gid));
    *b = endpoint(2);
    b->candidates[0] = candidate(3, 2, QPX_GID_ROCE_V2, QPX_GID_CHOSEN, 0);
    b->candidates[1] = candidate(2, 2, QPX_GID_ROCE_V2, QPX_GID_POSSIBLE, 1);
    b->candidate_count = 2;
    memcpy(b->gid, b->candidates[0].gid, sizeof(b->gid));
}

/* Both sides agree on a pair of candidates, or get an error that says why they cannot. */
static void candidates(void) {
    struct qpx_endpoint a, b, *at_a = NULL, *at_b = NULL;
    uint8_t theirs[16];
    void *from_a = NULL, *from_b = NULL;
    size_t length_a = 0, length_b = 0;
    int mine = -1;

    two_networks(&a, &b);
    CHECK(qpx_endpoint_pack(&a, &from_a, &length_a) == 0);
    CHECK(qpx_endpoint_pack(&b, &from_b, &length_b) == 0);
    CHECK(qpx_endpoint_unpack(from_a, length_a, &at_b) == 0);
    CHECK(qpx_endpoint_unpack(from_b, length_b, &at_a) == 0);
    free(from_a);
    free(from_b);
    if (!at_a || !at_b)
        return;
    CHECK(at_b->candidate_count == 2 && at_b->candidates[0].wish == QPX_GID_CHOSEN);
    CHECK(at_b->candidates[1].gid[14] == 2 && at_b->candidates[1].gid_index == -1);
    CHECK(at_b->candidates[1].prefix == 120 && at_b->candidates[1].type == QPX_GID_ROCE_V2);
    CHECK(qpx_agree(&a, 5, at_a, &mine, theirs) == 0 && mine == 9);
    CHECK(memcmp(theirs, b.candidates[1].gid, 16) == 0);
    CHECK(qpx_agree(&b, 0, at_b, &mine, theirs) == 0 && mine == 1);
    CHECK(memcmp(theirs, a.candidates[1].gid, 16) == 0);

    /* An index other than the one the peer was told, and indices lost in transfer. */
    CHECK(qpx_agree(&a, 9, at_a, &mine, theirs) == -QPX_EARGUMENT);
    CHECK(strstr(qpx_last_error(), "qpx_describe()") != NULL);
    CHECK(qpx_agree(at_b, 5, at_a, &mine, theirs) == -QPX_EARGUMENT);
    CHECK(strstr(qpx_last_error(), "no gid_index") != NULL);
    at_a->candidates[0].type = at_a->candidates[1].type = QPX_GID_ROCE_V1;
    CHECK(qpx_agree(&a, 5, at_a, &mine, theirs) == -QPX_EARGUMENT);
    CHECK(strstr(qpx_last_error(), "RoCE v1") != NULL);
    /* A peer without candidates: each side uses the GID that it chose. */
    at_a->candidate_count = 0;
    CHECK(qpx_agree(&a, 5, at_a, &mine, theirs) == 0 && mine == 5);
    CHECK(memcmp(theirs, b.gid, 16) == 0);
    qpx_endpoints_free(at_a, 1);
    qpx_endpoints_free(at_b, 1);

    a.candidate_count = QPX_MAX_CANDIDATES + 1;
    CHECK(qpx_endpoint_pack(&a, &from_a, &length_a) == -QPX_EARGUMENT);
    a.candidate_count = 2;
    a.reserved_more[3] = 1;
    CHECK(qpx_endpoint_pack(&a, &from_a, &length_a) == -QPX_EUNSUPPORTED);
}

static void client(uint16_t port) {
    struct qpx_options options = {0};
    struct qpx_endpoint wrong = endpoint(1), *remote = NULL;
    qpx_connection* c = NULL;
    size_t count = 0;
    char url[64];

    options.name = "the child";
    snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", port);
    CHECK(qpx_connect(url, &options, &c) == 0);
    if (!c)
        return;
    talk(c, 200, 100);
    wrong.mtu = 1500;
    CHECK(qpx_exchange(c, &wrong, 1, &remote, &count) == -QPX_EARGUMENT);
    wrong = endpoint(1);
    memset(wrong.device, 'x', sizeof(wrong.device));
    CHECK(qpx_exchange(c, &wrong, 1, &remote, &count) == -QPX_EARGUMENT);
    wrong = endpoint(1);
    wrong.region_count = 1;
    CHECK(qpx_exchange(c, &wrong, 1, &remote, &count) == -QPX_EARGUMENT);
    qpx_refuse(c, "that is all");
    qpx_close(c);
}

int main(void) {
    qpx_listener* listener = NULL;
    qpx_connection* c = NULL;
    int status = 0;
    pid_t child;

    CHECK(qpx_listen("tcp://127.0.0.1:0", NULL, &listener) == 0);
    if (!listener)
        return 1;
    CHECK(qpx_accept(listener, 0, &c) == -QPX_ETIMEOUT);
    errors();
    sizes_of_options();
    endpoints_as_bytes();
    candidates();
    child = fork();
    if (child == 0) {
        const uint16_t port = qpx_listener_port(listener);

        qpx_listener_close(listener);
        client(port);
        return failures != 0;
    }
    CHECK(qpx_accept(listener, 20000, &c) == 0);
    if (c) {
        CHECK(strcmp(qpx_peer_name(c), "the child") == 0);
        talk(c, 100, 200);
        CHECK(qpx_barrier(c) == -QPX_EREFUSED);
        CHECK(strstr(qpx_last_error(), "that is all") != NULL);
        CHECK(qpx_last_detail() != 0);
    }
    qpx_close(c);
    qpx_listener_close(listener);
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return failures != 0;
}
