// SPDX-License-Identifier: BSD-2-Clause
#include "cm/ids.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "exit.h"
#include "verbs/explain.h"

namespace rdma_bench {
namespace {

// Common reasons of a REJ message (IBTA 12.6.7.2).
constexpr int kInvalidServiceId = 8, kStaleConnection = 10, kConsumerReject = 28;

std::string rejection(int reason) {
    switch (reason) {
        case kInvalidServiceId:
            return "nobody listens there";
        case kStaleConnection:
            return "it still holds a former connection of a QP with this number; try again";
        case kConsumerReject:
            return "the peer's program refused it";
        default:
            return "reason " + std::to_string(reason);
    }
}

}  // namespace

std::string cm_failure(const char* call, int error) {
    return explain_errno(call, error);
}

std::string cm_event_text(const rdma_cm_event& event) {
    switch (event.event) {
        case RDMA_CM_EVENT_ADDR_ERROR:
            return "no RDMA device of this host leads to the peer's address: " +
                   explain_errno("rdma_resolve_addr", -event.status);
        case RDMA_CM_EVENT_ROUTE_ERROR:
            return "no route to the peer: " + explain_errno("rdma_resolve_route", -event.status);
        case RDMA_CM_EVENT_UNREACHABLE:
            return "the peer's connection manager does not answer: is its RDMA device up?";
        case RDMA_CM_EVENT_REJECTED:
            return "the peer's connection manager refused the QP: " + rejection(event.status);
        case RDMA_CM_EVENT_DISCONNECTED:
            return "the peer ended the connection of a QP";
        case RDMA_CM_EVENT_DEVICE_REMOVAL:
            return "the device is gone";
        default:
            return std::string(rdma_event_str(event.event)) + ", status " +
                   std::to_string(event.status);
    }
}

std::string CmAddress::text() const {
    char host[NI_MAXHOST] = "?";
    getnameinfo(reinterpret_cast<const sockaddr*>(&storage), sizeof storage, host, sizeof host,
                nullptr, 0, NI_NUMERICHOST);
    return host;
}

void CmAddress::set_port(std::uint16_t port) {
    // The port has the same offset in both families.
    reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
}

CmAddress cm_address(const std::array<std::uint8_t, 16>& gid, unsigned interface) {
    CmAddress address;
    constexpr std::size_t kMappedPrefix = 12;
    in6_addr v6{};
    std::memcpy(&v6, gid.data(), sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
        auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
        v4->sin_family = AF_INET;
        std::memcpy(&v4->sin_addr, gid.data() + kMappedPrefix, sizeof v4->sin_addr);
    } else {
        auto* in6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
        in6->sin6_family = AF_INET6;
        in6->sin6_addr = v6;
        in6->sin6_scope_id = IN6_IS_ADDR_LINKLOCAL(&v6) ? interface : 0;
    }
    return address;
}

CmAddress cm_address(const std::string& numeric) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(numeric.c_str(), nullptr, &hints, &found) != 0 || !found) {
        throw RunError(Exit::kDevice, "-R: '" + numeric + "' is no numeric address");
    }
    CmAddress address;
    std::memcpy(&address.storage, found->ai_addr,
                std::min<std::size_t>(found->ai_addrlen, sizeof address.storage));
    freeaddrinfo(found);
    return address;
}

}  // namespace rdma_bench
