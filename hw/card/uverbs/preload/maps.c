/* SPDX-License-Identifier: BSD-2-Clause */
#include "maps.h"

#include <fcntl.h>
#include <string.h>

#include "sys.h"

/* Lines of a file through a fixed buffer; what is longer than the buffer is cut. */
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
            in->end = sizeof(in->text) - 1; /* an overlong line: its tail is not needed */
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

/* "7f00-7f10 rw-p 00000000 00:01 1234    /path". False: not such a line. */
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
    (void)number(&p, 16);
    skip(&p, ':');
    (void)number(&p, 16);
    skip(&p, ' ');
    map->inode = number(&p, 10);
    skip(&p, ' ');
    map->special = *p == '[' && strcmp(p, "[heap]") != 0 && strncmp(p, "[anon:", 6) != 0;
    return true;
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
    bool pending = false; /* of smaps: its flags have not come yet */
    bool more = true;
    char* line;

    in.begin = 0;
    in.end = 0;
    in.fd =
        dingo_sys_open(with_flags ? "/proc/self/smaps" : "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (in.fd < 0) {
        return false;
    }
    while (more && (line = next_line(&in))) {
        if (with_flags && strncmp(line, "VmFlags: ", 9) == 0) {
            if (pending) {
                map.flags = parse_flags(line + 9);
                pending = false;
                more = each(&map, arg);
            }
            continue;
        }
        /* field names of smaps begin with a capital letter */
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

uint64_t dingo_status_kb(const char* name) {
    struct lines in;
    uint64_t value = 0;
    char* line;

    in.begin = 0;
    in.end = 0;
    in.fd = dingo_sys_open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (in.fd < 0) {
        return 0;
    }
    while ((line = next_line(&in))) {
        size_t length = strlen(name);

        if (strncmp(line, name, length) == 0) {
            const char* p = line + length;

            while (*p == ' ' || *p == '\t') {
                p++;
            }
            value = number(&p, 10);
            break;
        }
    }
    dingo_sys_close(in.fd);
    return value;
}
