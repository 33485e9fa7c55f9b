// SPDX-License-Identifier: BSD-2-Clause
// Two model cards on one wire, each with its driver, and a provider's handling of rings.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/card.h"
#include "dingo-abi.h"
#include "host/driver/address_vector.h"
#include "host/driver/context.h"
#include "host/driver/cq.h"
#include "host/driver/dm.h"
#include "host/driver/driver.h"
#include "host/driver/mr.h"
#include "host/driver/mw.h"
#include "host/driver/pd.h"
#include "host/driver/qp.h"
#include "host/driver/srq.h"
#include "host/driver/udata.h"

namespace dingo::uverbs::test {

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

template <typename Response>
Response response_of(const Udata& udata) {
    Response response{};
    EXPECT_EQ(udata.out.size(), sizeof response);
    std::memcpy(&response, udata.out.data(), std::min(udata.out.size(), sizeof response));
    return response;
}

/// Calls `fn` and returns the errno that it throws, 0 if none.
template <typename Fn>
int errno_of(Fn&& fn) {
    try {
        fn();
    } catch (const ErrnoError& error) {
        return error.code();
    }
    return 0;
}

/// Returns the number of mappings in this process of files whose name contains `name`.
std::size_t mappings_of(std::string_view name);

/// A client's mapping through a context.
class ClientMap {
  public:
    ClientMap() = default;
    ClientMap(Context& context, std::uint64_t offset, std::uint64_t length, int prot);
    ClientMap(ClientMap&& other) noexcept : at_(std::exchange(other.at_, {})) {}
    ClientMap& operator=(ClientMap&& other) noexcept {
        std::swap(at_, other.at_);
        return *this;
    }
    ~ClientMap();
    [[nodiscard]] std::byte* data() const { return at_.data(); }

  private:
    std::span<std::byte> at_;
};

/// A ring with its doorbell, as kept by a provider.
struct ClientRing {
    ClientRing() = default;
    ClientRing(Context& context, const dingo_ring_map& map);
    void ring(std::uint32_t type, std::uint32_t object, std::uint32_t index,
              std::uint32_t more = 0) const;
    dingo_ring_map map{};
    ClientMap memory, page;
};

struct Silent final : CqListener, EventListener {
    void on_completion() override { ++completions; }
    void on_cq_error() override { ++errors; }
    void on_event(int event) override { events.push_back(event); }
    int completions = 0;
    int errors = 0;
    std::vector<int> events;
};

/// One host: driver and card.
struct Host {
    Host(Wire& wire, std::uint64_t mac, std::vector<std::string> addresses,
         std::uint64_t withheld = 0);
    ~Host() { card.set_frame_tap(nullptr); }
    bool poll(Nanoseconds now) {
        const bool more = card.poll(now);
        return driver.poll(now) || more;
    }

    Driver driver;
    Card card;
};

/// A client of a host: one context, one PD, one CQ.
struct Client {
    explicit Client(Host& h);
    struct QpRings {
        std::unique_ptr<Qp> qp;
        ClientRing sq, rq;
        std::uint32_t producer = 0;
    };
    QpRings make_qp(std::uint8_t type = 2);
    /// Posts a WRITE with one SGE and rings the doorbell.
    void post_write(QpRings& qp, const dingo_sge& sge, std::uint64_t raddr, std::uint32_t rkey);
    std::optional<dingo_cqe> poll_cq();
    void arm_cq();
    void kick() { context->kicked(); }

    Host& host;
    Silent listener;
    dingo_alloc_ucontext_resp context_resp{};
    UniqueFd kick_fd;
    std::unique_ptr<Context> context;
    std::unique_ptr<Pd> pd;
    std::unique_ptr<Cq> cq;
    ClientRing cq_ring;
    std::uint32_t cqn = 0;
    std::uint32_t consumer = 0;
    std::uint32_t arm_sn = 0;
};

class TwoCards : public ::testing::Test {
  protected:
    TwoCards();
    /// Runs both cards until nothing is left to do; time advances only by changing `now`.
    void settle();
    /// Returns the client's next completion; waits, as other threads may be involved.
    dingo_cqe wait_cqe(Client& client);
    void connect(Client::QpRings& a, Client::QpRings& b);
    void to_rtr(Client::QpRings& qp, std::uint32_t remote, const Gid& dgid);
    void to_rts(Client::QpRings& qp, Host& host, std::uint32_t remote, const Gid& dgid);

    Nanoseconds now = 1'000'000;
    std::uint8_t mtu = 3;  ///< enum ibv_mtu
    std::pair<std::unique_ptr<Wire>, std::unique_ptr<Wire>> wires = make_loop_pair();
    std::unique_ptr<Host> a, b;
};

}  // namespace dingo::uverbs::test
