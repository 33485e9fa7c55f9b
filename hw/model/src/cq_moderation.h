// SPDX-License-Identifier: BSD-2-Clause
//
// The CQs whose event is delayed by moderation (MODIFY_CQ), ordered by due time.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "card_context.h"

namespace dingo::model {

class CompletionQueue;

class CqModeration {
  public:
    explicit CqModeration(CardContext& card) : card_(card) {}
    CqModeration(const CqModeration&) = delete;
    CqModeration& operator=(const CqModeration&) = delete;

    /// Delays the event of `cq`, which is not delayed yet, until `due` at the latest.
    void wait(CompletionQueue& cq, Nanoseconds due);
    /// The same until the period of `cq`, beginning now, is over.
    void wait_from_now(CompletionQueue& cq);
    /// The delayed event of `cq` was written or is cancelled.
    void forget(CompletionQueue& cq);

    /// Called at the beginning and the end of each run(): card.now is the current time only in
    /// between.
    void begin_run();
    /// Writes at most `budget` of the events that are due. Returns true if there are more.
    bool end_run(unsigned budget);
    /// Returns kNever if no event is delayed.
    [[nodiscard]] Nanoseconds next_deadline() const noexcept;

  private:
    CardContext& card_;
    std::map<std::pair<Nanoseconds, std::uint32_t>, CompletionQueue*> waiting_;  // by time and CQN
    std::vector<CompletionQueue*> begun_;  // delayed since the last run(): due time not known yet
    bool running_ = false;
};

}  // namespace dingo::model
