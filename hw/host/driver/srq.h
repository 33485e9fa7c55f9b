// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "host/driver/card_object.h"
#include "host/driver/client_queue.h"
#include "host/driver/context.h"
#include "host/driver/doorbells.h"
#include "host/driver/object_tables.h"
#include "host/driver/pd.h"
#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

class Driver;

/// A shared receive queue.
class Srq {
  public:
    /// dingo_create_srq_req and _resp. Sets max_wr and max_sge to the actual sizes.
    Srq(Driver& driver, Context& context, Pd& pd, std::uint32_t& max_wr, std::uint32_t& max_sge,
        EventListener& listener, Udata& udata);
    ~Srq();
    Srq(const Srq&) = delete;
    Srq& operator=(const Srq&) = delete;

    /// `mask` is IBV_SRQ_LIMIT; IBV_SRQ_MAX_WR throws EOPNOTSUPP.
    void modify(std::uint32_t mask, std::uint32_t max_wr, std::uint32_t limit, Udata& udata);
    struct Attr {
        std::uint32_t max_wr, max_sge, limit;
    };
    Attr query();
    [[nodiscard]] std::uint32_t number() const { return number_.get(); }
    /// Receiver of this SRQ's events.
    [[nodiscard]] EventListener& listener() const { return listener_; }

  private:
    struct Size {
        std::uint8_t log_size;
        std::uint8_t log_stride;
        std::uint32_t max_sge;
        [[nodiscard]] std::uint32_t max_wr() const { return 1U << log_size; }
    };
    static Size checked_size(const Driver& driver, std::uint32_t max_wr, std::uint32_t max_sge,
                             const Udata& udata);

    Driver& driver_;
    EventListener& listener_;
    Size size_;
    Doorbell doorbell_;
    TableEntry<SrqTable> number_;
    ClientQueue queue_;
    std::optional<CardObject> on_card_;
};

}  // namespace dingo::uverbs
