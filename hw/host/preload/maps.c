/* SPDX-License-Identifier: BSD-2-Clause */
#include "maps.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>

#include "sys.h"

/* Reads lines of a file through a fixed buffer; longer lines are truncated. */
struct lines {
    int fd;
    size_t begin;
    size_t end;
    char text[8192];
};

static char* next_line(struct lines* in) {
    for (;;) {
        char* line = in->text + in->begin;
        char* stop = memchr(line, '\n', in->end - in->begin);
        long got;

        if (stop) {
            *stop = '\0';
            in->begin = (size_t)(stop + 1 - in->text);
            return line;
        }
        memmove(in->text, line, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
        if (in->end == sizeof(in->text)) {
            in->end = sizeof(in->text) - 1; /* overlong line: its tail is not needed */
        }
        do {
            got = DINGO_SYS(SYS_read, in->fd, in->text + in->end, sizeof(in->text) - in->end);
        } while (got == -EINTR);
        if (got <= 0) {
            return NULL;
        }
        in->end += (size_t)got;
    }
}

static uint64_t number(const char** p, unsigned base) {
    uint64_t value = 0;

    for (;; (*p)++) {
        char c = **p;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 99;

        if (digit >= base) {
            return value;
        }
        value = value * base + digit;
    }
}

static void skip(const char** p, char c) {
    while (**p == c) {
        (*p)++;
    }
}

static void set_name(struct dingo_map* map, const char* name) {
    map->name = name;
    map->special = *name == '[' && strcmp(name, "[heap]") != 0 && strncmp(name, "[anon:", 6) != 0;
}

/* Parses a line such as "7f00-7f10 rw-p 00000000 00:01 1234    /path". Returns false if
 * malformed. */
static bool parse(const char* p, struct dingo_map* map) {
    const char* begin = p;

    memset(map, 0, sizeof(*map));
    map->start = number(&p, 16);
    if (p == begin || *p != '-') {
        return false;
    }
    p++;
    map->end = number(&p, 16);
    if (*p != ' ') {
        return false;
    }
    p++;
    map->readable = p[0] == 'r';
    map->writable = p[1] == 'w';
    map->executable = p[2] == 'x';
    map->shared = p[3] == 's';
    p += 4;
    skip(&p, ' ');
    map->offset = number(&p, 16);
    skip(&p, ' ');
    map->dev_major = (uint32_t)number(&p, 16);
    skip(&p, ':');
    map->dev_minor = (uint32_t)number(&p, 16);
    skip(&p, ' ');
    map->inode = number(&p, 10);
    skip(&p, ' ');
    set_name(map, p);
    return true;
}

/* struct procmap_query and its ioctl, which the headers of some systems lack. */
struct query {
    uint64_t size;
    uint64_t flags;
    uint64_t address;
    uint64_t start;
    uint64_t end;
    uint64_t rights;
    uint64_t page_size;
    uint64_t offset;
    uint64_t inode;
    uint32_t dev_major;
    uint32_t dev_minor;
    uint32_t name_size;
    uint32_t build_id_size;
    uint64_t name;
    uint64_t build_id;
};
#define QUERY _IOWR('f', 17, struct query)
#define QUERY_READABLE 1u
#define QUERY_WRITABLE 2u
#define QUERY_EXECUTABLE 4u
#define QUERY_SHARED 8u
#define QUERY_OR_NEXT 16u

static atomic_bool query_missing;

bool dingo_maps_are_text(void) {
    return atomic_load(&query_missing);
}

/* Returns 0 or -errno; -ENOTTY if the kernel does not support the query and `each` was not
 * called. */
static long ask(struct lines* in, uint64_t start, uint64_t end,
                bool (*each)(const struct dingo_map*, void*), void* arg) {
    char* name = in->text;
    struct query query;
    struct dingo_map map;
    bool first = true;
    bool more = true;

    while (more && start < end) {
        long result;

        memset(&query, 0, sizeof(query));
        name[0] = '\0';
        query.size = sizeof(query);
        query.flags = QUERY_OR_NEXT;
        query.address = start;
        query.name = (uintptr_t)name;
        query.name_size = PATH_MAX;
        result = DINGO_SYS(SYS_ioctl, in->fd, QUERY, &query);
        if (result == -ENAMETOOLONG) {
            query.name_size = 0;
            query.name = 0;
            result = DINGO_SYS(SYS_ioctl, in->fd, QUERY, &query);
        }
        if (result == -ENOENT || (result == 0 && query.start >= end)) {
            return 0;
        }
        if (result < 0) {
            return first ? -ENOTTY : result;
        }
        first = false;
        map = (struct dingo_map){.start = query.start,
                                 .end = query.end,
                                 .offset = query.offset,
                                 .inode = query.inode,
                                 .dev_major = query.dev_major,
                                 .dev_minor = query.dev_minor,
                                 .readable = query.rights & QUERY_READABLE,
                                 .writable = query.rights & QUERY_WRITABLE,
                                 .executable = query.rights & QUERY_EXECUTABLE,
                                 .shared = query.rights & QUERY_SHARED};
        set_name(&map, name);
        more = each(&map, arg);
        start = query.end;
    }
    return 0;
}

static uint32_t parse_flags(const char* p) {
    static const struct {
        char name[3];
        uint32_t flag;
    } known[] = {
        {"dc", DINGO_MAP_DONTFORK}, {"lo", DINGO_MAP_LOCKED},   {"wf", DINGO_MAP_WIPEONFORK},
        {"dd", DINGO_MAP_DONTDUMP}, {"hg", DINGO_MAP_HUGEPAGE}, {"nh", DINGO_MAP_NOHUGEPAGE},
    };
    uint32_t flags = 0;

    for (; p[0] && p[1]; p += p[2] == ' ' ? 3 : 2) {
        for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (p[0] == known[i].name[0] && p[1] == known[i].name[1]) {
                flags |= known[i].flag;
            }
        }
    }
    return flags;
}

bool dingo_maps_read(uint64_t start, uint64_t end, bool with_flags,
                     bool (*each)(const struct dingo_map*, void*), void* arg) {
    struct lines in;
    struct dingo_map map;
    bool pending = false; /* smaps: the mapping's VmFlags line has not been read yet */
    bool more = true;
    char* line;

    in.begin = 0;
    in.end = 0;
    in.fd =
        dingo_sys_open(with_flags ? "/proc/self/smaps" : "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (in.fd < 0) {
        return false;
    }
    /* reading the text is faster if all mappings are wanted */
    if (!with_flags && end != UINT64_MAX) {
        long result = ask(&in, start, end, each, arg);

        if (result != -ENOTTY) {
            dingo_sys_close(in.fd);
            return result == 0;
        }
        atomic_store(&query_missing, true);
    }
    while (more && (line = next_line(&in))) {
        if (with_flags && strncmp(line, "VmFlags: ", 9) == 0) {
            if (pending) {
                map.flags = parse_flags(line + 9);
                map.name = ""; /* the name was in an earlier line */
                pending = false;
                more = each(&map, arg);
            }
            continue;
        }
        /* field names in smaps begin with a capital letter */
        if ((line[0] >= 'A' && line[0] <= 'Z') || !parse(line, &map)) {
            continue;
        }
        pending = map.start < end && map.end > start;
        if (map.start >= end) {
            break;
        }
        if (pending && !with_flags) {
            more = each(&map, arg);
        }
    }
    dingo_sys_close(in.fd);
    return true;
}

static bool field(const char* line, const char* name, uint64_t* value) {
    size_t length = strlen(name);
    const char* p = line + length;

    if (strncmp(line, name, length) != 0) {
        return false;
    }
    while (*p == ' ' || *p == '\t') {
        p++;
    }
    *value = number(&p, 10);
    return true;
}

struct dingo_memory_status dingo_memory_status(void) {
    struct dingo_memory_status status = {0, 0};
    struct lines in;
    char* line;

    in.begin = 0;
    in.end = 0;
    in.fd = dingo_sys_open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (in.fd < 0) {
        return status;
    }
    /* VmPin follows VmLck */
    while ((line = next_line(&in)) && !field(line, "VmPin:", &status.pinned)) {
        (void)field(line, "VmLck:", &status.locked);
    }
    dingo_sys_close(in.fd);
    return status;
}
