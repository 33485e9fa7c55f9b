// SPDX-License-Identifier: BSD-2-Clause
// A program outside the source tree that includes each public header and uses part of each class
// and of each group of functions. A missing export fails to link; the results of calls that need
// no device are checked.
#include <qpx/endpoint.h>
#include <qpx/error.h>
#include <qpx/group.h>
#include <qpx/peer.h>
#include <qpx/qpx.h>
#include <qpx/qpx_group.h>
#include <qpx/security.h>
#include <qpx/url.h>
#include <qpx/verbs.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

void check(bool good, const char* what) {
    if (!good) {
        std::printf("wrong: %s\n", what);
        std::exit(1);
    }
}

template <class Call>
bool throws(qpx::ErrorCode code, Call call) {
    try {
        call();
    } catch (const qpx::Error& error) {  // by type: program and library must share its RTTI
        return error.code() == code;
    }
    return false;
}

qpx::Endpoint some_endpoint(std::uint32_t qpn) {
    qpx::Endpoint endpoint;
    endpoint.qpn = qpn;
    endpoint.gid[15] = 1;
    return endpoint;
}

void plain_data() {
    check(std::string(qpx::to_string(qpx::ErrorCode::Timeout)) == "timeout", "error.h");
    check(qpx::why_invalid(some_endpoint(1)).empty() && !qpx::why_invalid({}).empty(),
          "endpoint.h");
    check(qpx::why_incompatible(some_endpoint(1), some_endpoint(2)).empty(), "why_incompatible");
    check(qpx::gid_text(some_endpoint(1).gid) == "::1" && qpx::to_string(qpx::QpType::UD) == "UD",
          "texts");
    check(qpx::parse_url("tcp://h:1").port == 1, "url.h");
    check(qpx::to_string(qpx::parse_host_port("h", 7)).find("h:7") != std::string::npos,
          "parse_host_port");
    check(!qpx::parse_security("none").on(), "security.h");
    check(throws(qpx::ErrorCode::Argument, [] { qpx::read_psk_file("/does/not/exist"); }),
          "read_psk_file");
    check(qpx::path_mtu(some_endpoint(1), some_endpoint(2)) == 1024 &&
              qpx::mtu_code(1024) == IBV_MTU_1024 && qpx::random_psn() < (1U << 24) &&
              std::string(qpx::to_string(qpx::GidType::RoceV2)) != "",
          "verbs.h");
}

/// Never called, as there may be no device: the test is that it links.
[[maybe_unused]] void with_a_device(ibv_qp* qp, ibv_mr* mr, ibv_pd* pd) {
    const qpx::Local local = qpx::describe(qp);
    qpx::gids(qp->context, 1);
    qpx::choose_gid(qp->context, 1);
    qpx::describe(mr, "tag");
    qpx::to_init(qp, local);
    qpx::to_rtr(qp, local, local.endpoint);
    qpx::to_rts(qp, local, local.endpoint);
    qpx::connect(qp, local, local.endpoint);
    qpx::create_ah(pd, local, local.endpoint);
}
void (*volatile linked)(ibv_qp*, ibv_mr*, ibv_pd*) = with_a_device;

void two_peers() {
    qpx::Listener listener("127.0.0.1", 0);
    std::thread client([port = listener.port()] {
        auto connection = qpx::Connection::connect("127.0.0.1", port);
        check(connection.exchange(some_endpoint(2)).qpn == 1, "Connection::exchange");
        connection.barrier();
    });
    auto connection = listener.accept(std::chrono::seconds(10));
    check(connection.exchange(some_endpoint(1)).qpn == 2, "Listener::accept");
    connection.barrier();
    client.join();
}

void a_group() {
    qpx::GroupOptions options;
    options.rank = 0;
    options.size = 1;
    // Port 0 would select the default port, so a free one is found first.
    const std::uint16_t port = qpx::Listener("127.0.0.1", 0).port();
    auto group = qpx::Group::join("tcp://127.0.0.1:" + std::to_string(port) + "/every", options);
    group->put("key", "value");
    check(group->get_text("key") == "value", "Group::put, get_text");
    check(group->all_gather(some_endpoint(1)).empty(), "Group::all_gather");
    check(group->exchange(std::span<const qpx::RankEndpoint>{}).empty(), "Group::exchange");
    check(throws(qpx::ErrorCode::Timeout,
                 [&] { group->find("nobody", std::chrono::milliseconds(1)); }),
          "Group::find");
    check(throws(qpx::ErrorCode::Argument, [] { qpx::Group::join("x://y"); }), "Group::join");
    qpx::rank_from_environment();
    group->leave();
}

void in_c() {
    check(qpx_version() != nullptr && qpx_strerror(QPX_ETIMEOUT) != nullptr, "qpx.h");
    qpx_group* group = nullptr;
    check(qpx_group_join("x://y", nullptr, &group) == -QPX_EARGUMENT, "qpx_group.h");
    qpx_group_free(nullptr);
}

}  // namespace

int main() {
    plain_data();
    two_peers();
    a_group();
    in_c();
    std::puts("every header links and works");
}
