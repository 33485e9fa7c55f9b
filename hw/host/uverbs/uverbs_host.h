// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "host/driver/driver.h"
#include "host/local_card.h"
#include "host/sysfs/sysfs.h"
#include "host/uverbs/attachment.h"
#include "host/uverbs/card_directory.h"

namespace dingo::uverbs {

struct UverbsHostOptions {
    std::string directory;  ///< of the card; "" = no kernel-less card
    bool share = false;
    std::vector<std::string> addresses;
    std::string name = "dingo0";  ///< of the RDMA device
    std::uint32_t path_mtu = 4096;
    std::uint32_t device_memory = 16;  ///< MiB for ibv_alloc_dm(); 0: none
    std::string meeting_place;         ///< of the wire: as DirectCard's
};

/// All that makes a running card one that applications can use without a kernel driver. What it
/// shows of itself appears once it is ready, and goes with it.
class UverbsHost {
  public:
    /// The card is brought up: `driver` is its HostPort. `adopts`: its process takes further cards.
    /// Throws std::runtime_error for the user.
    UverbsHost(const UverbsHostOptions& options, CardDirectory& directory, Driver& driver,
               const LocalCard& card, std::string engine, bool adopts);
    ~UverbsHost();
    UverbsHost(const UverbsHost&) = delete;
    UverbsHost& operator=(const UverbsHost&) = delete;

    [[nodiscard]] UverbsAttachment& attachment() { return attachment_; }
    /// After the control socket is there, too.
    void publish();

  private:
    const UverbsHostOptions& options_;
    CardDirectory& directory_;
    Driver& driver_;
    std::string engine_;
    bool adopts_;
    Sysfs sysfs_;
    UverbsAttachment attachment_;
};

DriverConfig driver_config(const UverbsHostOptions& options);

/// One descriptor or more for each queue of each client: as many as we may have.
void raise_descriptor_limit();

}  // namespace dingo::uverbs
