/* SPDX-License-Identifier: BSD-2-Clause */
/* A card of another user that the caller trusts: it gets only what requests name. */
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define PAGE 4096

struct arguments {
    struct ib_uverbs_ioctl_hdr head;
    struct ib_uverbs_attr attrs[3];
};

static struct arguments arguments_of(uint16_t number) {
    struct arguments request;

    memset(&request, 0, sizeof(request));
    request.head.length = sizeof(request);
    request.head.method_id = number;
    request.head.num_attrs = 3;
    return request;
}

/* The card writes the bytes, or what it must not write (ANSWER of fake_card.h). */
static void answer(int fd, char* bytes, unsigned how) {
    struct arguments request = arguments_of(ANSWER);
    char input[16] = "ABCDEFGHIJKLMNO";

    request.attrs[0].attr_id = UVERBS_ATTR_UHW_OUT;
    request.attrs[0].len = 16;
    request.attrs[0].data = (uintptr_t)bytes;
    request.attrs[1].data = how;
    request.attrs[2].attr_id = UVERBS_ATTR_UHW_IN;
    request.attrs[2].len = sizeof(input);
    request.attrs[2].data = (uintptr_t)input;
    if (how == 0) {
        CHECK(ioctl(fd, RDMA_VERBS_IOCTL, &request) == 0);
    } else {
        CHECK(ioctl(fd, RDMA_VERBS_IOCTL, &request) < 0 && errno == EIO);
    }
    CHECK(request.attrs[0].data == (uintptr_t)bytes && request.attrs[1].data == how);
    CHECK(memcmp(input, "ABCDEFGHIJKLMNO", 16) == 0);
    CHECK(request.attrs[0].flags == (how == 0 ? UVERBS_ATTR_F_VALID_OUTPUT : 0));
}

/* The card only changes the flags of the last attribute. */
static void answer_last(int fd) {
    struct arguments request = arguments_of(ANSWER);

    request.attrs[1].data = 7;
    CHECK(ioctl(fd, RDMA_VERBS_IOCTL, &request) == 0);
    CHECK(request.attrs[2].flags == UVERBS_ATTR_F_VALID_OUTPUT);
    CHECK(request.attrs[0].flags == 0 && request.attrs[1].flags == 0 && request.attrs[1].data == 7);
}

static int reg_mr(int fd, void* at, size_t length) {
    struct arguments request = arguments_of(UVERBS_METHOD_INVOKE_WRITE);
    struct ib_uverbs_reg_mr command;

    memset(&command, 0, sizeof(command));
    command.start = (uintptr_t)at;
    command.length = length;
    request.attrs[0].attr_id = UVERBS_ATTR_WRITE_CMD;
    request.attrs[0].len = 8;
    request.attrs[0].data = IB_USER_VERBS_CMD_REG_MR;
    request.attrs[1].attr_id = UVERBS_ATTR_CORE_IN;
    request.attrs[1].len = sizeof(command);
    request.attrs[1].data = (uintptr_t)&command;
    return ioctl(fd, RDMA_VERBS_IOCTL, &request);
}

static char* pages(size_t count) {
    char* at = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(at != MAP_FAILED);
    memset(at, 'm', count * PAGE);
    return at;
}

static void use(int fd) {
    char bytes[16] = "abcdefghijklmno";

    CHECK(method(fd, MEMORY_KIND, 0, 0, 0) == 0);
    for (unsigned how = 1; how <= 6; how++) {
        answer(fd, bytes, how);
        CHECK(memcmp(bytes, "abcdefghijklmno", 16) == 0);
    }
    answer_last(fd);
    answer(fd, bytes, 0);
    CHECK(memcmp(bytes, "bcdefghijklmnop\001", 16) == 0);
}

void client_foreign(void) {
    int fd = open_card();
    int status;
    char* at = pages(4);
    pid_t child;

    use(fd);
    CHECK(reg_mr(fd, at, 4 * PAGE) == 4 * PAGE);
    CHECK(method(fd, POKE, (uintptr_t)at + 100, 'x', 0) == 0 && at[100] == 'x');
    child = fork();
    if (child == 0) {
        use(fd);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(fd);
    use(open_card());
}

void client_foreign_refused(void) {
    int fd = open_card();
    int number = -1;
    char* at = pages(4);
    int secret = open("/etc/passwd", O_RDONLY);

    /* memory that the request does not register or that cannot be shared */
    CHECK(method(fd, SHARE, (uintptr_t)at, PAGE, 1) < 0 && errno == EOPNOTSUPP);
    CHECK(reg_mr(fd, at + 8, PAGE) < 0 && errno == EOPNOTSUPP);
    CHECK(reg_mr(fd, &number, sizeof(number)) < 0 && errno == EOPNOTSUPP);
    /* a descriptor that the request does not name */
    CHECK(method(fd, NEED_FD, (uint64_t)secret, 0, 0) < 0 && errno == EOPNOTSUPP);
    /* a number stored outside the request's rooms */
    CHECK(method(fd, CHANNELS, (uintptr_t)&number, (uintptr_t)&number, 0) == 0 && number == -1);
    use(fd);
}

/* The card changes the request's memory so that it names what the card asks for. */
void client_foreign_steals(void) {
    int fd = open_card();
    char* secret = pages(1);
    char* at = pages(1);
    int file = open("/etc/passwd", O_RDONLY);
    struct arguments dmabuf = arguments_of(UVERBS_METHOD_REG_DMABUF_MR);
    int named = memfd_create("named", MFD_CLOEXEC);

    CHECK(method(fd, STEAL, (uintptr_t)secret, (uint64_t)file, 0) == 0);
    CHECK(reg_mr(fd, at, PAGE) < 0 && errno == EIO);
    CHECK(method(fd, PLACES, 0, 0, 0) == 0);
    dmabuf.head.object_id = UVERBS_OBJECT_MR;
    dmabuf.attrs[0].attr_id = UVERBS_ATTR_REG_DMABUF_MR_FD;
    dmabuf.attrs[0].data_s64 = named;
    CHECK(ioctl(fd, RDMA_VERBS_IOCTL, &dmabuf) < 0 && errno == EIO);
    CHECK(dmabuf.attrs[0].data_s64 == named);
    use(fd);
}

void client_foreign_rdma_cm(void) {
    CHECK(open("/dev/infiniband/rdma_cm", O_RDWR) < 0 && errno == EOPNOTSUPP);
    use(open_card());
}
