/* SPDX-License-Identifier: BSD-2-Clause */
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "rank.h"
#include "real.h"
#include "say.h"
#include "sys.h"

enum { VIEW_UNKNOWN = 0, VIEW_BEING_READ, VIEW_NONE, VIEW_SET };

static atomic_int view_state;
static char view_path[PATH_MAX];
static size_t view_length;
/* A program may be started in a directory of the view that its parent had entered. */
enum { CWD_UNKNOWN = 0, CWD_ELSEWHERE, CWD_IN_VIEW };
static atomic_int cwd_state;

static int read_view(void) {
    int state = VIEW_UNKNOWN;
    char of_rank[PATH_MAX];
    const char* view;
    size_t length;

    if (!atomic_compare_exchange_strong(&view_state, &state, VIEW_BEING_READ)) {
        /* another thread is reading the view, which is short; a recursive call sees no view */
        for (int i = 0; state == VIEW_BEING_READ && i < 1000; i++) {
            (void)DINGO_SYS(SYS_sched_yield);
            state = atomic_load(&view_state);
        }
        return state;
    }
    view = dingo_view_of_rank(of_rank);
    view = view ? view : getenv("DINGO_VIEW");
    length = view ? strlen(view) : 0;
    while (length > 1 && view[length - 1] == '/') {
        length--;
    }
    state = VIEW_NONE;
    if (length > 0 && view[0] == '/' && length < sizeof(view_path) - 64) {
        memcpy(view_path, view, length);
        view_length = length;
        state = VIEW_SET;
    } else if (length > 0) {
        static const char text[] =
            "libdingo-preload: DINGO_VIEW must be the absolute path of a card's directory "
            "(`dingo run` sets it); ignored\n";
        (void)DINGO_SYS(SYS_write, 2, text, sizeof(text) - 1);
    }
    atomic_store(&view_state, state);
    return state;
}

const char* dingo_view(void) {
    int state = atomic_load_explicit(&view_state, memory_order_acquire);

    if (state == VIEW_UNKNOWN || state == VIEW_BEING_READ) {
        state = read_view();
    }
    return state == VIEW_SET ? view_path : NULL;
}

/* Skips slashes and "." components. */
static const char* next_component(const char* p) {
    while (*p == '/' || (*p == '.' && (p[1] == '/' || p[1] == '\0'))) {
        p++;
    }
    return p;
}

/* Returns the part after the component `name`, or NULL. */
static const char* skip_component(const char* p, const char* name) {
    size_t length = strlen(name);

    if (strncmp(p, name, length) != 0 || (p[length] != '/' && p[length] != '\0')) {
        return NULL;
    }
    return next_component(p + length);
}

/* Returns true if the component is an RDMA class or device directory: infiniband,
 * infiniband_verbs, ... */
static bool is_infiniband(const char* p, bool classes) {
    if (strncmp(p, "infiniband", 10) != 0) {
        return false;
    }
    return p[10] == '\0' || p[10] == '/' || (classes && p[10] == '_');
}

/* Returns true for misc/rdma_cm, the class device of /dev/infiniband/rdma_cm. */
static bool is_rdma_cm_class(const char* p) {
    p = skip_component(p, "misc");
    return p && skip_component(p, "rdma_cm");
}

void dingo_explain_view(void) {
    static atomic_flag looked = ATOMIC_FLAG_INIT;
    char path[PATH_MAX + 8];
    struct stat st;
    long result;

    if (atomic_flag_test_and_set(&looked)) {
        return;
    }
    snprintf(path, sizeof(path), "%s/sys", view_path);
    result = DINGO_SYS(SYS_newfstatat, AT_FDCWD, path, &st, 0);
    if (result == -EACCES) {
        dingo_say(
            "user %ld has no access to the card in %s: use a card of that user (su USER -c 'dingo "
            "run -- COMMAND'), or start this card with --share",
            DINGO_SYS(SYS_geteuid), view_path);
    } else if (result < 0) {
        dingo_say(
            "no card in %s: it has stopped, or this program cannot see the directory (chroot, "
            "container): use `dingo run` inside it",
            view_path);
    }
}

static const char* join(const char* directory, const char* rest, char buffer[PATH_MAX]) {
    size_t first = strlen(directory);
    size_t second = strlen(rest);

    if (view_length + first + second >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    dingo_explain_view();
    memcpy(buffer, view_path, view_length);
    memcpy(buffer + view_length, directory, first);
    memcpy(buffer + view_length + first, rest, second + 1);
    return buffer;
}

/* `p` is the part of `path` below the root directory. */
static const char* rewrite_root(const char* path, const char* p, char buffer[PATH_MAX]) {
    const char* q;

    if (*p == 's') {
        q = skip_component(p, "sys");
        q = q ? skip_component(q, "class") : NULL;
        return q && (is_infiniband(q, true) || is_rdma_cm_class(q)) ? join("/sys/class/", q, buffer)
                                                                    : path;
    }
    if (*p == 'd') {
        q = skip_component(p, "dev");
        if (q && strcmp(q, "rdma_cm") == 0) {
            return join("/dev/infiniband/", q, buffer);
        }
        return q && is_infiniband(q, false) ? join("/dev/", q, buffer) : path;
    }
    return path;
}

const char* dingo_rewrite(const char* path, char buffer[PATH_MAX]) {
    const char* p;

    if (path == NULL || path[0] != '/') {
        return path;
    }
    p = next_component(path);
    if (DINGO_LIKELY((*p != 's' && *p != 'd') || !dingo_view())) {
        return path;
    }
    return rewrite_root(path, p, buffer);
}

/* Programs that keep descriptors of "/", "/sys/class" or "/dev" (hwloc) use relative paths. */
const char* dingo_rewrite_at(int dirfd, const char* path, char buffer[PATH_MAX]) {
    char link[32];
    char target[64];
    const char* p;
    char* digit;
    long length;

    if (path == NULL || path[0] == '/' || dirfd < 0) {
        return dingo_rewrite(path, buffer);
    }
    p = next_component(path);
    if (DINGO_LIKELY(strncmp(p, "infiniband", 10) != 0 && strncmp(p, "sys/class/inf", 13) != 0 &&
                     strncmp(p, "dev/infiniband", 14) != 0 &&
                     strncmp(p, "class/infiniband", 16) != 0) ||
        !dingo_view()) {
        return path;
    }
    digit = link + sizeof(link);
    *--digit = '\0';
    for (int n = dirfd; digit == link + sizeof(link) - 1 || n > 0; n /= 10) {
        *--digit = (char)('0' + n % 10);
    }
    memcpy(digit -= 14, "/proc/self/fd/", 14);
    length = DINGO_SYS(SYS_readlinkat, AT_FDCWD, digit, target, sizeof(target) - 1);
    if (length <= 0) {
        return path;
    }
    target[length] = '\0';
    if (strcmp(target, "/") == 0) {
        return rewrite_root(path, p, buffer);
    }
    if (strcmp(target, "/sys") == 0 && strncmp(p, "class/", 6) == 0) {
        p = next_component(p + 6);
        return is_infiniband(p, true) ? join("/sys/class/", p, buffer) : path;
    }
    if (strcmp(target, "/sys/class") == 0 && is_infiniband(p, true)) {
        return join("/sys/class/", p, buffer);
    }
    if (strcmp(target, "/dev") == 0 && is_infiniband(p, false)) {
        return join("/dev/", p, buffer);
    }
    return path;
}

int dingo_device_number(const char* rewritten) {
    const char* p = strncmp(rewritten, view_path, view_length) == 0 ? rewritten + view_length : "";
    int n = 0;

    if (strncmp(p, "/dev/infiniband/", 16) != 0) {
        return -1;
    }
    p = next_component(p + 16);
    if (strcmp(p, "rdma_cm") == 0) {
        return DINGO_RDMA_CM_NUMBER;
    }
    if (strncmp(p, "uverbs", 6) != 0 || p[6] == '\0') {
        return -1;
    }
    for (p += 6; *p >= '0' && *p <= '9' && n < 100000; p++) {
        n = n * 10 + (*p - '0');
    }
    return *p == '\0' ? n : -1;
}

bool dingo_is_counter(const char* path) {
    return strstr(path, "/hw_counters/") != NULL || strstr(path, "/counters/") != NULL;
}

bool dingo_is_dynamic(const char* path) {
    return dingo_is_counter(path) || strstr(path, "gid_attrs/") != NULL;
}

void dingo_cwd_changed(bool in_view) {
    atomic_store(&cwd_state, in_view ? CWD_IN_VIEW : CWD_ELSEWHERE);
}

bool dingo_cwd_in_view(void) {
    int state = atomic_load_explicit(&cwd_state, memory_order_relaxed);

    if (DINGO_UNLIKELY(state == CWD_UNKNOWN)) {
        char cwd[PATH_MAX];
        const char* view = dingo_view();
        bool inside = view && DINGO_SYS(SYS_getcwd, cwd, sizeof(cwd)) > 0 &&
                      strncmp(cwd, view, view_length) == 0 && cwd[view_length] == '/';

        state = inside ? CWD_IN_VIEW : CWD_ELSEWHERE;
        atomic_store(&cwd_state, state);
    }
    return state == CWD_IN_VIEW;
}
