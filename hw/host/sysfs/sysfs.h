// SPDX-License-Identifier: BSD-2-Clause
//
// The sysfs and /dev files of a kernel-less card, as read by libibverbs, UCX, NCCL and scripts.
// Their values equal those that the same card shows under dingo.ko.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/driver/driver.h"

namespace dingo::uverbs {

/// Values that are fixed for the card's lifetime.
struct SysfsIdentity {
    std::string name = "dingo0";  ///< of the RDMA device
    unsigned number = 0;          ///< N of uverbsN
    std::string board_id = "dingo-model";
    std::string node_desc = "Dingo RoCE v2 card";
    std::uint16_t vendor_id = 0;
    std::uint16_t device_id = 0;
    std::uint16_t subsystem_vendor_id = 0;
    std::uint16_t subsystem_device_id = 0;
    std::uint32_t pci_class = 0;  ///< 24 bits
};

using SysfsCounters = std::vector<std::pair<std::string, std::uint64_t>>;

/// PCI address of card N: "0000:c0:00.0" and up. Real machines rarely use these buses, and topology
/// code expects an address of this form.
std::string sysfs_pci_address(unsigned number);

class Sysfs {
  public:
    /// Creates DIR/sys and DIR/dev. Each appears atomically and replaces a tree left by a card that
    /// died. Throws std::system_error.
    Sysfs(std::filesystem::path dir, SysfsIdentity identity, const DeviceAttr& device,
          const PortAttr& port, const std::vector<GidEntry>& gids, const SysfsCounters& counters);
    ~Sysfs();  ///< removes both
    Sysfs(const Sysfs&) = delete;
    Sysfs& operator=(const Sysfs&) = delete;

    /// Rewrites state, rate and GIDs after a port event.
    void update(const PortAttr& port, const std::vector<GidEntry>& gids);

    /// Returns the current text of the counter that `path` names (.../hw_counters/NAME,
    /// .../counters/NAME), or nullopt if it is not a counter. Answers DINGO_UVERBS_SYSFS.
    static std::optional<std::string> counter(const std::string& path,
                                              const SysfsCounters& counters);

  private:
    void write_port(const std::filesystem::path& port_dir, const PortAttr& port,
                    const std::vector<GidEntry>& gids, bool replace);

    std::filesystem::path dir_;
    SysfsIdentity identity_;
    std::filesystem::path port_dir_;              ///< DIR/sys/devices/.../ports/1
    std::map<std::string, std::string> written_;  ///< content of the files below port_dir_ that may
                                                  ///< change
};

}  // namespace dingo::uverbs
