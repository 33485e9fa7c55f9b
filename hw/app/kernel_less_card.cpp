// SPDX-License-Identifier: BSD-2-Clause
#include "kernel_less_card.h"

#include <utility>

#include "base/log.h"
#include "host/rdma_cm/cm_service.h"

namespace dingo {
namespace {

/// Has the driver initialize the card and returns it.
Card& start(uverbs::Driver& driver, Card& card) {
    driver.start(card);
    return card;
}

std::unique_ptr<uverbs::Service> make_rdma_cm(const Options& options,
                                              const uverbs::CardDirectory& directory,
                                              uverbs::Driver& driver, Card& card,
                                              uverbs::UverbsAttachment& attachment) {
    if ((card.read(Bar::kRegisters, DINGO_REG_CAPS, 8) & DINGO_CAP_UD) == 0) {
        return nullptr;
    }
    auto service = std::make_unique<rdma_cm::CmService>(
        rdma_cm::CmService::Options{.directory = directory.path().string(),
                                    .share = options.uverbs.share},
        driver, attachment.poller());
    attachment.add_service(*service);
    return service;
}

/// Sets the directory in which clients find their peers' cards for the direct road, if that may be
/// used.
Options& with_meeting_place(Options& options, const Wire& wire) {
    if (options.wire.pcap.empty() && options.wire.faults.empty()) {
        options.uverbs.meeting_place = wire.meeting_place();
    }
    return options;
}

int log_of(const UniqueFd& log) {
    return log ? log.get() : STDERR_FILENO;
}

}  // namespace

KernelLessCard::KernelLessCard(Options options, const std::shared_ptr<Gate>& gate,
                               ServedCard::Hooks hooks, UniqueFd log)
    : options_((set_log(log_of(log)), std::move(options))),
      log_(std::move(log)),
      wire_(make_wire(options_.wire)),
      directory_(options_.uverbs.directory, options_.uverbs.share),
      driver_(uverbs::driver_config(options_.uverbs)),
      card_(options_.engine, options_.config, driver_, *wire_, gate),
      host_(with_meeting_place(options_, *wire_).uverbs, directory_, driver_, start(driver_, card_),
            options_.engine, options_.adopt),
      rdma_cm_(make_rdma_cm(options_, directory_, driver_, card_, host_.attachment())),
      served_(options_.control, card_, host_.attachment(), *wire_, std::move(hooks), log_of(log_)) {
}

std::string KernelLessCard::describe_wire() {
    return card_.gate()->run([this] { return wire_->describe(); });
}

void KernelLessCard::publish() {
    log::info("engine {}, MAC {:012x}, seed {}, wire: {}", card_.engine_name(), options_.config.mac,
              options_.config.seed, describe_wire());
    host_.publish();
    log::info("RDMA device {}, uverbs{}: serving in {}", name(), directory_.number(),
              directory_.path().string());
}

}  // namespace dingo
