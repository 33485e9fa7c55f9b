// SPDX-License-Identifier: BSD-2-Clause
// Counters of the service. The list generates the members and their names in Prometheus and JSON.
#pragma once
#include <cstdint>

namespace qpx::service {

// X(name, help)
#define QPXD_COUNTERS(X)                                                                     \
    X(connections, "Connections that were accepted")                                         \
    X(connections_closed, "Connections that ended, for whatever reason")                     \
    X(refused_busy, "Connections turned away: too many clients, or too many of one address") \
    X(refused_share, "Connections turned away: places are few and their address holds many") \
    X(refused_idle, "Connections closed because they joined no job in time")                 \
    X(refused_waits, "Requests to wait that were refused: too many, or for too many keys")   \
    X(refused_output, "Answers refused because too many lie unread")                         \
    X(refused_handshake, "Connections that ended before TLS and HELLO were done")            \
    X(refused_slow, "Connections closed because the handshake took too long")                \
    X(refused_auth, "Connections and joins of peers that may not")                           \
    X(refused_version, "Connections that speak another protocol version")                    \
    X(protocol_errors, "Connections closed for malformed, replayed or misplaced messages")   \
    X(oversized, "Connections closed for a message above the limit")                         \
    X(slow_readers, "Connections closed because answers were not read")                      \
    X(stalled_frames, "Connections closed because a message was begun and not finished")     \
    X(bytes_in, "Bytes received, after TLS")                                                 \
    X(bytes_out, "Bytes sent, before TLS")                                                   \
    X(requests, "Requests of members")                                                       \
    X(requests_failed, "Requests that were answered with an error")                          \
    X(joins, "Members that joined")                                                          \
    X(leaves, "Members that left in good order")                                             \
    X(failures, "Members that were lost")                                                    \
    X(puts, "Values stored")                                                                 \
    X(gets, "Values read")                                                                   \
    X(gathers, "Barriers and gatherings that were completed")                                \
    X(exchanges, "Exchanges that were completed, one per member")                            \
    X(endpoints, "Endpoints passed from one member to another")                              \
    X(cancels, "Requests that members gave up")                                              \
    X(events_lost, "Times a member did not read its events and lost some")                   \
    X(jobs_begun, "Jobs that began")                                                         \
    X(jobs_ended, "Jobs that ended")                                                         \
    X(http_requests, "Requests of metrics and status by HTTP")                               \
    X(http_refused, "HTTP requests that were malformed, slow or too many")

struct Counters {
#define QPXD_MEMBER(name, help) uint64_t name = 0;
    QPXD_COUNTERS(QPXD_MEMBER)
#undef QPXD_MEMBER
};

}  // namespace qpx::service
