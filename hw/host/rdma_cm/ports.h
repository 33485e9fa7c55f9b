// SPDX-License-Identifier: BSD-2-Clause
//
// The port spaces and the identifiers bound to ports in them, by the rules of Linux's rdma_cm.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "host/rdma_cm/address.h"

namespace dingo::rdma_cm {

/// A port that an identifier is bound to.
struct Binding {
    Address address;
    bool loopback = false;  ///< a loopback address that no card has; treated as the wildcard
    bool reuse = false;     ///< RDMA_OPTION_ID_REUSEADDR
    bool af_only = false;
    bool listening = false;

    [[nodiscard]] bool is_any() const { return loopback || address.is_any(); }
};

class Ports {
  public:
    /// Number of ports that port 0 is replaced by.
    static constexpr std::uint32_t kEphemerals = 60999 - 32768 + 1;

    explicit Ports(std::function<std::uint32_t()> random) : random_(std::move(random)) {}

    /// Binds; port 0 is replaced by a free port in `binding`. `binding` must stay at its address
    /// until release(). Throws ErrnoError: EADDRINUSE, or EADDRNOTAVAIL if no port is free.
    void bind(std::uint16_t space, Binding& binding);
    /// `binding` is bound. Throws ErrnoError(EADDRINUSE) if another binding conflicts.
    void listen(std::uint16_t space, Binding& binding);
    void release(std::uint16_t space, const Binding& binding);

  private:
    using Key = std::pair<std::uint16_t, std::uint16_t>;  ///< space, port
    void check(const std::vector<Binding*>& others, const Binding& mine, bool reuse) const;
    void add(Key key, Binding& binding);

    std::function<std::uint32_t()> random_;
    std::map<Key, std::vector<Binding*>> ports_;
    std::map<std::uint16_t, std::uint32_t> ephemerals_;  ///< bound ones, by space
};

}  // namespace dingo::rdma_cm
