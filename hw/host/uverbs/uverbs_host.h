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
    std::string directory;  ///< the card's directory; "": no kernel-less card
    bool share = false;
    std::vector<std::string> addresses;
    std::string name = "dingo0";  ///< name of the RDMA device
    std::uint32_t path_mtu = 4096;
    std::uint32_t device_memory = 16;  ///< MiB for ibv_alloc_dm(); 0: none
    std::string meeting_place;         ///< of the wire, as in DirectCard
};

/// Makes a running card usable by applications without a kernel driver. Its sysfs files and sockets
/// appear when it is ready and are removed with it.
class UverbsHost {
  public:
    /// The card is initialized; `driver` is its HostPort. `adopts`: the card's process accepts
    /// further cards. Throws std::runtime_error with a text for the user.
    UverbsHost(const UverbsHostOptions& options, CardDirectory& directory, Driver& driver,
               const LocalCard& card, std::string engine, bool adopts);
    ~UverbsHost();
    UverbsHost(const UverbsHost&) = delete;
    UverbsHost& operator=(const UverbsHost&) = delete;

    [[nodiscard]] UverbsAttachment& attachment() { return attachment_; }
    /// Publishes the card; call it when the control socket exists, too.
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

/// Raises the limit of open descriptors to the maximum: each queue of each client needs one or
/// more.
void raise_descriptor_limit();

}  // namespace dingo::uverbs
