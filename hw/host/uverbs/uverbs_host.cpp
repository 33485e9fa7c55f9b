// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/uverbs_host.h"

#include <sys/resource.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"

namespace dingo::uverbs {
namespace {

/// Upper bound of the RoCE v2 headers over IPv6 around a payload.
constexpr std::uint32_t kHeaders = 128;

SysfsIdentity identity_of(const UverbsHostOptions& options, unsigned number, const LocalCard& card,
                          const std::string& engine) {
    const PciIdentity& pci = card.identity();
    SysfsIdentity id;
    id.name = options.name;
    id.number = number;
    id.board_id = "dingo-" + engine;
    id.vendor_id = pci.vendor;
    id.device_id = pci.device;
    id.subsystem_vendor_id = pci.vendor;
    id.subsystem_device_id = pci.device;
    id.pci_class = pci.class_code;
    return id;
}

}  // namespace

UverbsHost::UverbsHost(const UverbsHostOptions& options, CardDirectory& directory, Driver& driver,
                       const LocalCard& card, std::string engine, bool adopts)
    : options_(options),
      directory_(directory),
      driver_(driver),
      engine_(std::move(engine)),
      adopts_(adopts),
      sysfs_(directory.path(), identity_of(options, directory.number(), card, engine_),
             driver.query_device(), driver.query_port(), driver.gids(), driver.card_counters()),
      attachment_({.directory = directory.path().string(),
                   .share = options.share,
                   .number = directory.number(),
                   .meeting_place = options.meeting_place},
                  driver) {
    attachment_.set_sysfs(
        [this](const std::string& path) { return Sysfs::counter(path, driver_.card_counters()); });
    attachment_.on_port_event = [this](int /*event*/) {
        try {
            sysfs_.update(driver_.query_port(), driver_.gids());
        } catch (const std::exception& error) {
            // The file system is full, or the files were deleted: cards and clients continue.
            log::warn("{}: cannot update the sysfs files: {}", options_.name, error.what());
        }
    };
}

UverbsHost::~UverbsHost() = default;

void UverbsHost::publish() {
    directory_.publish({{"pid", ::getpid()},
                        {"number", directory_.number()},
                        {"name", options_.name},
                        {"engine", engine_},
                        {"addresses", options_.addresses},
                        {"share", options_.share},
                        {"adopts", adopts_}});
}

DriverConfig driver_config(const UverbsHostOptions& options) {
    DriverConfig config;
    config.ib_name = options.name;
    config.addresses = options.addresses;
    config.mtu = options.path_mtu + kHeaders;
    config.device_memory = std::uint64_t{options.device_memory} << 20;
    return config;
}

void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

}  // namespace dingo::uverbs
