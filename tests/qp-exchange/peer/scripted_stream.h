// SPDX-License-Identifier: BSD-2-Clause
// A stream without a socket: the test sets the bytes to be read and how many can be written.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/stream.h"
#include "qpx/error.h"

namespace qpx::test {

struct Script {
    std::vector<std::byte> incoming;      ///< bytes that read() returns
    bool ended = false;                   ///< the other side has closed after `incoming`
    std::size_t takes = ~std::size_t{0};  ///< bytes that write() still accepts
    std::size_t piece = ~std::size_t{0};  ///< most bytes of one read() or write()
    std::vector<std::byte> sent;
    std::size_t space = 0;  ///< buffer size of the last read()
    int reads = 0, shutdowns = 0;
    bool more_pending = false;
    bool broken = false;          ///< write() throws
    std::optional<Error> no_tls;  ///< thrown by handshake()
    std::vector<std::byte> plain;
    std::string address = "192.0.2.1";
};

class ScriptedStream final : public net::Stream {
  public:
    explicit ScriptedStream(Script& script) : s_(script) {}
    net::Want handshake() override {
        if (s_.no_tls) {
            throw Error(*s_.no_tls);
        }
        return net::Want::Nothing;
    }
    net::Io read(std::span<std::byte> into) override {
        ++s_.reads;
        s_.space = into.size();
        const std::size_t count = std::min({into.size(), s_.incoming.size(), s_.piece});
        if (count == 0) {
            return {.want = net::Want::Read, .closed = s_.ended};
        }
        std::copy_n(s_.incoming.begin(), count, into.begin());
        s_.incoming.erase(s_.incoming.begin(),
                          s_.incoming.begin() + static_cast<std::ptrdiff_t>(count));
        return {.bytes = count};
    }
    net::Io write(std::span<const std::byte> from) override {
        EXPECT_FALSE(from.empty()) << "nothing to send is no write";
        if (s_.broken) {
            throw Error(ErrorCode::PeerGone, "the connection broke");
        }
        const std::size_t count = std::min({from.size(), s_.takes, s_.piece});
        s_.takes -= count;
        s_.sent.insert(s_.sent.end(), from.begin(),
                       from.begin() + static_cast<std::ptrdiff_t>(count));
        return count == 0 ? net::Io{.want = net::Want::Write} : net::Io{.bytes = count};
    }
    bool pending() const override { return s_.more_pending; }
    void shutdown() noexcept override { ++s_.shutdowns; }
    std::span<const std::byte> plain_bytes() const override { return s_.plain; }
    int fd() const override { return -1; }
    bool pollable() const override { return false; }
    std::string peer_address() const override { return s_.address; }
    std::uint16_t peer_port() const override { return 1; }
    std::string local_address() const override { return "here"; }

  private:
    Script& s_;
};

/// Scripted clients, accepted one after the other, and counters of the acceptor's calls.
struct Arrivals {
    std::deque<Script> clients;
    std::size_t taken = 0;
    int asked = 0;
    bool no_descriptors = false;
};

class ScriptedAcceptor final : public net::Acceptor {
  public:
    explicit ScriptedAcceptor(Arrivals& arrivals) : a_(arrivals) {}
    std::unique_ptr<net::Stream> accept() override {
        ++a_.asked;
        if (a_.no_descriptors) {
            throw Error(ErrorCode::Limit, "no descriptors left");
        }
        return a_.taken == a_.clients.size()
                   ? nullptr
                   : std::make_unique<ScriptedStream>(a_.clients[a_.taken++]);
    }
    int fd() const override { return -1; }
    bool pollable() const override { return false; }
    std::uint16_t port() const override { return 7; }
    std::string url() const override { return "script://"; }

  private:
    Arrivals& a_;
};

}  // namespace qpx::test
