// SPDX-License-Identifier: BSD-2-Clause
/*
 * Preloaded into QEMU so that a vfio-user card can be unplugged, and can die.
 *
 * Unplug: QEMU 11.1's vfio-user-pci takes its MSI-X pending-bit region out of the BAR when the device
 * object is finalized, but by then the BAR has dropped it: device_del of any device with MSI-X
 * ends QEMU with "subregion->container == mr". The guest has seen a complete, orderly unplug at
 * that point. One more reference keeps the object from being finalized. The object stays, hidden,
 * with its socket open, until QEMU ends; vm.sh therefore ends the card process after an unplug.
 *
 * connect() to the card is the place to take the reference: it is called while the device is
 * realized, in QEMU's main thread and under its lock.
 *
 * Death: a process that dies with requests unread resets its sockets, so that QEMU's next read is
 * not the end of file but ECONNRESET. vfio-user then sets an error twice, and QEMU ends with
 * "error_setv: Assertion `*errp == NULL'". For all that QEMU reads, a reset is as good as the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CARD_PATH "/machine/peripheral/card"
#define CARD_SOCKET ".vfu"

static int is_card_socket(const struct sockaddr *address, socklen_t length)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)address;
    size_t n;

    if (address->sa_family != AF_UNIX || length > sizeof(*un))
        return 0;
    n = strnlen(un->sun_path, sizeof(un->sun_path));
    return n > strlen(CARD_SOCKET) && n < sizeof(un->sun_path) &&
           strcmp(un->sun_path + n - strlen(CARD_SOCKET), CARD_SOCKET) == 0;
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    int (*next)(int, const struct sockaddr *, socklen_t) =
        (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");

    if (is_card_socket(address, length)) {
        void *(*resolve)(const char *, void *) =
            (void *(*)(const char *, void *))dlsym(RTLD_DEFAULT, "object_resolve_path");
        void *(*ref)(void *) = (void *(*)(void *))dlsym(RTLD_DEFAULT, "object_ref");
        void *card = resolve && ref ? resolve(CARD_PATH, NULL) : NULL;

        if (card)
            ref(card);
    }
    return next(fd, address, length);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    static ssize_t (*next)(int, struct msghdr *, int);
    ssize_t n;

    if (!next)
        next = (ssize_t (*)(int, struct msghdr *, int))dlsym(RTLD_NEXT, "recvmsg");
    n = next(fd, message, flags);
    return n < 0 && errno == ECONNRESET ? 0 : n;
}
