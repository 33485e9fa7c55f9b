// SPDX-License-Identifier: BSD-2-Clause
//
// CQs whose event waits for more completions (MODIFY_CQ), by the end of their period.
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

    /// The event of `cq`, which does not wait yet, is written at `due` at the latest.
    void wait(CompletionQueue& cq, Nanoseconds due);
    /// The same when the period of `cq` is over that begins now.
    void wait_from_now(CompletionQueue& cq);
    /// The event of `cq`, which waits, has been written or never will be.
    void forget(CompletionQueue& cq);

    /// At the beginning and the end of each run(): only between them is card.now the present time.
    void begin_run();
    /// Writes at most `budget` of the events that are due; true: there are more.
    bool end_run(unsigned budget);
    /// kNever: none waits.
    [[nodiscard]] Nanoseconds next_deadline() const noexcept;

  private:
    CardContext& card_;
    std::map<std::pair<Nanoseconds, std::uint32_t>, CompletionQueue*> waiting_;  // by time and CQN
    std::vector<CompletionQueue*> begun_;  // since the last run(): the next one knows the time
    bool running_ = false;
};

}  // namespace dingo::model
