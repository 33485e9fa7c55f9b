// SPDX-License-Identifier: BSD-2-Clause
//
// Cards on the PCI bus and their memory, from sysfs; switches peer to peer on and off.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dingo::cli {

/// Files of /sys and /proc below a root directory, which tests replace.
class KernelFiles {
  public:
    explicit KernelFiles(std::filesystem::path root) : root_(std::move(root)) {}
    virtual ~KernelFiles() = default;
    KernelFiles(const KernelFiles&) = delete;
    KernelFiles& operator=(const KernelFiles&) = delete;

    /// Returns the text without its last line break, nullopt if it cannot be read.
    [[nodiscard]] std::optional<std::string> read(const std::filesystem::path& path) const;
    /// Returns 0 or an errno.
    virtual int write(const std::filesystem::path& path, const std::string& text);
    /// Returns the names in a directory, sorted; empty if it does not exist.
    [[nodiscard]] std::vector<std::string> list(const std::filesystem::path& path) const;
    /// Returns the path below the root with links resolved; "" if it does not exist.
    [[nodiscard]] std::filesystem::path real(const std::filesystem::path& path) const;
    [[nodiscard]] std::filesystem::path at(const std::filesystem::path& path) const {
        return root_ / path;
    }

  private:
    std::filesystem::path root_;
};

/// A process that holds card memory.
struct P2pUser {
    std::string pid;
    std::string name;
    std::uint64_t bytes = 0;
};

/// A Dingo card on the PCI bus.
struct P2pCard {
    std::string address;  ///< 0000:03:00.0
    std::string device;   ///< its RDMA device; "" if there is none
    bool driver = false;  ///< bound to dingo.ko
    /// "true", "false", "no iomem", or "none" if the card has no memory behind a BAR.
    std::string state = "none";
    std::uint64_t memory = 0;     ///< bytes on the card, if known
    std::uint64_t bar = 0;        ///< bytes of the memory accessible through the BAR
    std::uint64_t free = 0;       ///< unused bytes while peer to peer is on
    std::uint64_t resizable = 0;  ///< bit n: the BAR can be 2^n MiB large
    bool counts = false;          ///< the card counts accesses of others to its memory
    std::vector<P2pUser> users;   ///< visible to root only

    /// Bytes accessible with peer to peer enabled.
    [[nodiscard]] std::uint64_t wanted() const;
};

std::vector<P2pCard> p2p_cards(const KernelFiles& files);

/// Returns the card with this PCI address or RDMA device; "" means the only card. Throws Error.
P2pCard p2p_card(const KernelFiles& files, const std::string& name);

/// Returns an explanation of the state and its remedy in a sentence; "" if none is needed.
std::string p2p_advice(const P2pCard& card);

/// Both return a sentence about what was done, and throw Error with the obstacle and its remedy.
/// `force`: remove and rescan all devices below the card's root port.
std::string p2p_enable(KernelFiles& files, const P2pCard& card, bool force);
std::string p2p_disable(KernelFiles& files, const P2pCard& card, bool force);

/// Accesses of other devices to a card's memory since it was switched on.
struct P2pTransfers {
    std::uint64_t in_requests = 0, in_bytes = 0;    ///< written by others
    std::uint64_t out_requests = 0, out_bytes = 0;  ///< read by others
};
P2pTransfers p2p_transfers(const KernelFiles& files, const P2pCard& card);

/// Returns 67108864 as "64 MiB".
std::string binary_size(std::uint64_t bytes);

}  // namespace dingo::cli
