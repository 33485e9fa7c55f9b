// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "host/driver/card_object.h"
#include "host/driver/client_queue.h"
#include "host/driver/context.h"
#include "host/driver/doorbells.h"
#include "host/driver/object_tables.h"
#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

class Driver;

/// A completion queue.
class Cq {
  public:
    /// dingo_create_cq_req and _resp. `cqe` is the number of entries requested; entries() returns
    /// the usable ones.
    Cq(Driver& driver, Context& context, std::uint32_t cqe, std::uint32_t comp_vector,
       std::uint32_t flags, CqListener& listener, Udata& udata);
    ~Cq();
    Cq(const Cq&) = delete;
    Cq& operator=(const Cq&) = delete;

    [[nodiscard]] std::uint32_t entries() const { return size_.promised; }
    [[nodiscard]] std::uint32_t number() const { return number_.get(); }
    /// Receiver of this CQ's events.
    [[nodiscard]] CqListener& listener() const { return listener_; }
    void resize(std::uint32_t cqe, Udata& udata);  ///< dingo_resize_cq_resp
    /// Moderates events: the card delays an event until `count` completions (0: no limit), but at
    /// most `period` microseconds; 0: no delay.
    void moderate(std::uint16_t count, std::uint16_t period);

  private:
    struct Size {
        unsigned log_ring;
        std::uint32_t promised;  ///< entries reported to the client: what the smallest ring holds
        bool watched = false;    ///< the card watches its doorbell
    };
    /// Throws ErrnoError(EINVAL) if no ring holds that many entries.
    static Size size_for(const Driver& driver, std::uint32_t cqe);
    static Size checked_size(Driver& driver, std::uint32_t cqe, std::uint32_t comp_vector,
                             std::uint32_t flags, const Udata& udata);

    Driver& driver_;
    Context& context_;
    CqListener& listener_;
    Size size_;
    Doorbell doorbell_;
    std::unique_ptr<ClientQueue> queue_;
    /// The ring before the last resize(): the client consumes its entries until it resizes again
    /// (dingo-abi.h).
    std::unique_ptr<ClientQueue> old_queue_;
    TableEntry<CqTable> number_;
    std::optional<CardObject> on_card_;
};

}  // namespace dingo::uverbs
