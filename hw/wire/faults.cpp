// SPDX-License-Identifier: BSD-2-Clause
#include "wire/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/classify.h"
#include "wire/damage.h"
#include "wire/factory.h"
#include "wire/held_frames.h"
#include "wire/layer.h"

namespace dingo {
namespace {

enum Direction : unsigned { kTx = 0, kRx = 1 };

bool in(const std::vector<FaultRange>& list, std::uint64_t value) {
    return list.empty() || std::any_of(list.begin(), list.end(),
                                       [&](const FaultRange& r) { return r.contains(value); });
}

/// A rule and its state.
class ActiveRule {
  public:
    ActiveRule(FaultRule rule, std::uint64_t seed, std::size_t place)
        : rule_(std::move(rule)),
          random_{sequence(seed, 2 * place), sequence(seed, 2 * place + 1)} {}

    [[nodiscard]] const FaultRule& rule() const { return rule_; }
    [[nodiscard]] bool looks_at(Direction dir) const { return dir == kTx ? rule_.tx : rule_.rx; }
    FaultRandom& random(Direction dir) { return random_[dir]; }

    /// Returns true if the rule acts on this frame. Counts the frame and draws a random number.
    bool acts_on(Direction dir, const FrameParts& parts, std::size_t size) {
        if (!looks_at(dir) || !matches(parts, size))
            return false;
        const std::uint64_t nth = ++matched_[dir];
        if (!in(rule_.nth, nth) || nth % rule_.every != 0 || acted_ >= rule_.count ||
            !random_[dir].chance(rule_.probability))
            return false;
        acted_++;
        return true;
    }

  private:
    static FaultRandom sequence(std::uint64_t seed, std::size_t number) {
        return FaultRandom(FaultRandom(FaultRandom(seed).next() + number).next());
    }

    [[nodiscard]] bool matches(const FrameParts& parts, std::size_t size) const {
        if (rule_.type != FaultType::kAny && (rule_.type == FaultType::kRoce) != parts.roce())
            return false;
        if (!in(rule_.qpn, parts.qpn) || !in(rule_.psn, parts.psn))
            return false;
        if (!rule_.any_opcode && !rule_.opcodes[parts.opcode])
            return false;
        if (rule_.action == FaultAction::kEcn)
            return parts.ip != 0;
        if (rule_.action == FaultAction::kCorrupt)
            return target_of(rule_.part, parts, size).bytes() != 0;
        return true;
    }

    FaultRule rule_;
    std::array<FaultRandom, 2> random_;
    std::array<std::uint64_t, 2> matched_{};
    std::uint64_t acted_ = 0;
};

/// What happens to a frame, apart from changes of its bytes.
struct Verdict {
    bool drop = false;
    bool duplicate = false;
    bool hold = false;
    Nanoseconds time = 0;
    std::uint64_t by = kNoMark;  // or until this many frames have passed
};

class FaultInjector final : public WireLayer {
  public:
    FaultInjector(std::unique_ptr<Wire> inner, std::string_view spec, std::uint64_t seed)
        : WireLayer(std::move(inner)), seed_(seed) {
        use(parse_faults(spec), spec);
    }

    std::span<std::byte> begin_frame(std::size_t max_len) override {
        return room_ = inner().begin_frame(max_len);
    }
    std::span<std::byte> begin_frame_to(std::size_t max_len, std::uint64_t to) override {
        return room_ = inner().begin_frame_to(max_len, to);
    }

    bool needs_icrc() const override { return side_[kTx].busy() || inner().needs_icrc(); }
    void end_frame_without_icrc(std::size_t len) override { inner().end_frame_without_icrc(len); }
    bool takes_references() const override { return inner().takes_references(); }
    bool takes_trains() const override { return !side_[kTx].busy() && inner().takes_trains(); }
    /// Faults act on packets, so there are no trains while rules are active.
    std::optional<std::span<std::byte>> begin_train(std::size_t max_len, unsigned packets,
                                                    std::uint64_t to) override {
        if (side_[kTx].busy())
            return std::nullopt;
        return inner().begin_train(max_len, packets, to);
    }
    void end_frame_referring(std::size_t len, std::size_t offset,
                             std::span<const std::byte> payload, const Held& held) override {
        inner().end_frame_referring(len, offset, payload, held);
    }

    void end_frame(std::size_t len) override {
        if (len == 0 || !side_[kTx].busy()) {
            inner().end_frame(len);
            return;
        }
        const std::span<std::byte> frame = room_.first(len);
        const Verdict verdict = judge(kTx, frame);
        if (verdict.drop || (verdict.hold && hold(kTx, frame, verdict))) {
            inner().end_frame(0);
        } else {
            if (verdict.duplicate)
                copy_.assign(frame.begin(), frame.end());
            inner().end_frame(len);
            side_[kTx].passed++;
            if (verdict.duplicate && !send(copy_))
                hold(kTx, copy_, Verdict{});  // until the wire has room
        }
        release_tx();
    }

    void flush() override {
        release_tx();
        inner().flush();
    }

    unsigned receive(FrameSink& sink, unsigned budget) override {
        if (!side_[kRx].busy())
            return inner().receive(sink, budget);
        release_rx(sink);
        Interceptor interceptor(*this, sink);
        return inner().receive(interceptor, budget);
    }

    Nanoseconds next_deadline() const override {
        // A due frame that the wire refuses waits for tx_blocked_fd() instead.
        Nanoseconds tx = side_[kTx].held.next_due();
        if (tx <= now_ && inner().tx_blocked_fd() >= 0)
            tx = kNever;
        return std::min({tx, side_[kRx].held.next_due(), inner().next_deadline()});
    }

    void advance(Nanoseconds now) override {
        now_ = now;
        inner().advance(now);
        release_tx();
    }

    void set_faults(std::string_view spec) override {
        use(parse_faults(spec), spec);
        for (Side& side : side_)
            side.held.make_all_due();
        release_tx();
    }

    std::string describe() const override {
        if (rules_.empty())
            return inner().describe();
        return fmt::format("{}, faults '{}' with seed {}", inner().describe(), spec_, seed_);
    }
    WireStats stats() const override {
        WireStats out = inner().stats();
        out.faults = stats_;
        return out;
    }

  private:
    struct Side {
        bool has_rules = false;
        std::uint64_t passed = 0;
        HeldFrames held;
        [[nodiscard]] bool busy() const { return has_rules || !held.empty(); }
    };

    class Interceptor final : public FrameSink {
      public:
        Interceptor(FaultInjector& owner, FrameSink& sink) : owner_(owner), sink_(sink) {}
        void on_frame(std::span<const std::byte> frame) override { owner_.received(frame, sink_); }

      private:
        FaultInjector& owner_;
        FrameSink& sink_;
    };

    void use(std::vector<FaultRule> rules, std::string_view spec) {
        spec_ = spec;
        rules_.clear();
        side_[kTx].has_rules = side_[kRx].has_rules = false;
        for (FaultRule& rule : rules) {
            side_[kTx].has_rules |= rule.tx;
            side_[kRx].has_rules |= rule.rx;
            rules_.emplace_back(std::move(rule), seed_, rules_.size());
        }
    }

    /// Applies the rules: changes the frame and returns what else happens to it.
    Verdict judge(Direction dir, std::span<std::byte> frame) {
        Verdict out;
        const FrameParts parts = classify(frame);
        for (ActiveRule& active : rules_) {
            if (!active.acts_on(dir, parts, frame.size()))
                continue;
            const FaultRule& rule = active.rule();
            switch (rule.action) {
                case FaultAction::kDrop:
                    stats_.dropped++;
                    out.drop = true;
                    return out;
                case FaultAction::kDuplicate:
                    stats_.duplicated++;
                    out.duplicate = true;
                    break;
                case FaultAction::kReorder:
                    stats_.reordered++;
                    if (!out.hold)
                        out.by = rule.by;
                    out.hold = true;
                    out.time = std::max(out.time, rule.time);
                    break;
                case FaultAction::kDelay: {
                    stats_.delayed++;
                    const Nanoseconds jitter =
                        rule.jitter != 0 ? active.random(dir).below(rule.jitter + 1) : 0;
                    out.hold = true;
                    out.by = kNoMark;
                    out.time = std::max(out.time, rule.time + jitter);
                    break;
                }
                case FaultAction::kCorrupt:
                    stats_.corrupted++;
                    flip_bits(frame, target_of(rule.part, parts, frame.size()), rule.bits,
                              active.random(dir));
                    break;
                case FaultAction::kEcn:
                    stats_.ecn_marked++;
                    mark_congestion(frame, parts);
                    break;
            }
        }
        return out;
    }

    /// Returns false if too many frames are held: the frame then passes at once.
    bool hold(Direction dir, std::span<const std::byte> frame, const Verdict& verdict) {
        Side& side = side_[dir];
        for (int copies = verdict.duplicate ? 2 : 1; copies > 0; copies--) {
            if (side.held.full(frame.size())) {
                stats_.overflowed++;
                return verdict.duplicate && copies == 1;
            }
            const std::uint64_t mark = verdict.by == kNoMark ? kNoMark : side.passed + verdict.by;
            side.held.add(frame, now_ + verdict.time, mark);
        }
        return true;
    }

    bool send(std::span<const std::byte> frame) {
        const std::span<std::byte> room = inner().begin_frame(frame.size());
        if (room.empty())
            return false;
        std::copy(frame.begin(), frame.end(), room.begin());
        inner().end_frame(frame.size());
        side_[kTx].passed++;
        return true;
    }

    void release_tx() {
        Side& side = side_[kTx];
        while (!side.held.empty()) {
            const std::span<const std::byte> frame = side.held.ready(now_, side.passed);
            if (frame.empty() || !send(frame))
                return;
            side.held.pop();
        }
    }

    void received(std::span<const std::byte> frame, FrameSink& sink) {
        copy_.assign(frame.begin(), frame.end());
        const Verdict verdict = judge(kRx, copy_);
        if (!verdict.drop && !(verdict.hold && hold(kRx, copy_, verdict))) {
            for (int copies = verdict.duplicate ? 2 : 1; copies > 0; copies--) {
                side_[kRx].passed++;
                sink.on_frame(copy_);
            }
        }
        release_rx(sink);
    }

    void release_rx(FrameSink& sink) {
        Side& side = side_[kRx];
        while (!side.held.empty()) {
            const std::span<const std::byte> frame = side.held.ready(now_, side.passed);
            if (frame.empty())
                return;
            side.passed++;
            sink.on_frame(frame);
            side.held.pop();
        }
    }

    const std::uint64_t seed_;
    std::string spec_;
    std::vector<ActiveRule> rules_;
    std::array<Side, 2> side_;
    FaultStats stats_;
    Nanoseconds now_ = 0;
    std::span<std::byte> room_;
    std::vector<std::byte> copy_;
};

}  // namespace

std::unique_ptr<Wire> make_fault_injector(std::unique_ptr<Wire> inner, std::string_view spec,
                                          std::uint64_t seed) {
    return std::make_unique<FaultInjector>(std::move(inner), spec, seed);
}

}  // namespace dingo
