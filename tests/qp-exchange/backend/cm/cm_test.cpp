// SPDX-License-Identifier: BSD-2-Clause
// Tests of two peers over librdmacm. The device is that of QPX_CM_ADDRESS; without this variable
// only the refusal is tested.
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "loopback.h"

namespace qpx {
namespace {

using test::endpoint;
using test::expect_error;
using test::options;
using namespace std::chrono_literals;

TEST(CmUrl, WithoutAConnectionManagerSaysWhatIsMissing) {
    if (access("/dev/infiniband/rdma_cm", F_OK) == 0) {
        GTEST_SKIP() << "this host has a connection manager";
    }
    expect_error(ErrorCode::Unsupported, "rdma_ucm",
                 [] { Connection::connect(parse_url("cm://127.0.0.1:7"), options()); });
    expect_error(ErrorCode::Unsupported, "cm://",
                 [] { Listener(parse_url("cm://127.0.0.1"), options()); });
}

class Cm : public ::testing::Test {
  protected:
    void SetUp() override {
        const char* given = std::getenv("QPX_CM_ADDRESS");
        if (given == nullptr) {
            GTEST_SKIP() << "QPX_CM_ADDRESS names no RDMA device's address";
        }
        url_.scheme = "cm";
        url_.host = given;
    }

    /// Each pair uses its own port: otherwise a client in another process could connect to the
    /// previous test's listener while that is closing.
    void at_port(std::uint16_t port) { url_.port = port; }

    /// Runs both ends, the client in another thread, or only the end that QPX_CM_ROLE names.
    void both(PeerOptions how, const std::function<void(Connection&, bool server)>& call) {
        const char* role = std::getenv("QPX_CM_ROLE");
        const std::string mine = role == nullptr ? "both" : role;
        std::optional<Listener> listener;
        if (mine != "client") {
            listener.emplace(url_, how);
        }
        how.retry_refused = true;
        std::future<void> other;
        if (mine != "server") {
            other = std::async(std::launch::async, [&] {
                Connection c = Connection::connect(url_, how);
                call(c, false);
            });
        }
        if (listener) {
            Connection c = listener->accept(60s);
            call(c, true);
        }
        if (other.valid()) {
            other.get();
        }
    }

    Url url_;
};

TEST_F(Cm, ExchangeMessagesAndBarrier) {
    at_port(18601);
    both(options("cm"), [this](Connection& c, bool server) {
        EXPECT_TRUE(server || c.peer_address() == url_.host) << c.peer_address();
        EXPECT_EQ(c.peer_name(), "cm");
        EXPECT_EQ(c.exchange(endpoint(5)).qpn, 5U);
        const std::vector<std::byte> large(4 << 20, std::byte{7});
        c.send(large);
        EXPECT_EQ(c.receive(), large);
        c.barrier();
    });
}

TEST_F(Cm, WithTls) {
    at_port(18603);
    PeerOptions secure = options("cm");
    secure.security.mode = Security::Mode::Psk;
    secure.security.psk = {{"cluster", std::vector<std::byte>(32, std::byte{1})}};
    both(secure, [](Connection& c, bool) {
        EXPECT_TRUE(c.secure());
        EXPECT_EQ(c.exchange(endpoint(6)).qpn, 6U);
        c.barrier();
    });
}

TEST_F(Cm, NobodyListening) {
    at_port(18602);
    expect_error(ErrorCode::Refused, "nobody listens",
                 [this] { Connection::connect(url_, options()); });
}

TEST_F(Cm, ARefusalArrives) {
    at_port(18604);
    both(options(), [](Connection& c, bool server) {
        expect_error(ErrorCode::Refused, "QP types differ",
                     [&] { c.exchange(endpoint(1, server ? QpType::RC : QpType::UD)); });
    });
}

}  // namespace
}  // namespace qpx
