/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's RDMA netlink knows nothing of the view's devices: without it libibverbs reads sysfs.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "descriptors.h"
#include "paths.h"
#include "sys.h"

DINGO_EXPORT int socket(int domain, int type, int protocol) {
    int (*real)(int, int, int) = DINGO_REAL(int (*)(int, int, int), socket);
    int fd;

    if (DINGO_UNLIKELY(domain == AF_NETLINK && protocol == NETLINK_RDMA) && dingo_view()) {
        errno = EPROTONOSUPPORT;
        return -1;
    }
    fd = real ? real(domain, type, protocol)
              : (int)dingo_sys_result(DINGO_SYS(SYS_socket, domain, type, protocol));
    if (DINGO_UNLIKELY(dingo_fd_entry(fd))) {
        dingo_fd_forget(fd);
    }
    return fd;
}
