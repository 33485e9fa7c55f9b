// SPDX-License-Identifier: BSD-2-Clause
//
// Cards on the PCI bus and their memory, as sysfs shows them; what switches peer to peer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dingo::cli {

/// Files of /sys and /proc below a root, which is another one in tests.
class KernelFiles {
  public:
    explicit KernelFiles(std::filesystem::path root) : root_(std::move(root)) {}
    virtual ~KernelFiles() = default;
    KernelFiles(const KernelFiles&) = delete;
    KernelFiles& operator=(const KernelFiles&) = delete;

    /// The text without its last line break; nullopt: it cannot be read.
    [[nodiscard]] std::optional<std::string> read(const std::filesystem::path& path) const;
    /// 0 or an errno.
    virtual int write(const std::filesystem::path& path, const std::string& text);
    /// Names in a directory, sorted; none where there is none.
    [[nodiscard]] std::vector<std::string> list(const std::filesystem::path& path) const;
    /// What the path is when links are followed, below the root; "" where there is nothing.
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
    std::string device;   ///< of its RDMA device; "": it has none
    bool driver = false;  ///< dingo.ko has it
    /// "true", "false", "no iomem", or "none": the card has no memory behind a BAR.
    std::string state = "none";
    std::uint64_t memory = 0;     ///< bytes on the card, as far as is known
    std::uint64_t bar = 0;        ///< bytes of it that the BAR shows
    std::uint64_t free = 0;       ///< bytes that nobody holds, while peer to peer is on
    std::uint64_t resizable = 0;  ///< bit n: the BAR can have 2^n MiB
    bool counts = false;          ///< the card counts what others do with its memory
    std::vector<P2pUser> users;   ///< seen by root only

    /// Bytes that it would have with peer to peer.
    [[nodiscard]] std::uint64_t wanted() const;
};

std::vector<P2pCard> p2p_cards(const KernelFiles& files);

/// The card of this PCI address or RDMA device; "": the only one. Throws Error.
P2pCard p2p_card(const KernelFiles& files, const std::string& name);

/// Why the state is what it is, and what to do, in a sentence; "" where nothing is to be said.
std::string p2p_advice(const P2pCard& card);

/// Both return what was done, in a sentence, and throw Error with what hinders and what helps.
/// `force`: all devices below the card's root port are removed and found again.
std::string p2p_enable(KernelFiles& files, const P2pCard& card, bool force);
std::string p2p_disable(KernelFiles& files, const P2pCard& card, bool force);

/// What others have done with the memory of a card since it was switched on.
struct P2pTransfers {
    std::uint64_t in_requests = 0, in_bytes = 0;    ///< written by others
    std::uint64_t out_requests = 0, out_bytes = 0;  ///< read by them
};
P2pTransfers p2p_transfers(const KernelFiles& files, const P2pCard& card);

/// 67108864 as "64 MiB".
std::string binary_size(std::uint64_t bytes);

}  // namespace dingo::cli
