// SPDX-License-Identifier: BSD-2-Clause
//
// Runs one case of a packet script on one card of any engine. README.md has the directives.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dingo/packet/headers.h"
#include "script.h"
#include "two_cards.h"

namespace dingo::wire {

/// The engine lacks a capability that the case needs.
class CaseSkipped : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class Runner {
  public:
    explicit Runner(const std::string& engine_name);

    /// Throws ScriptError, its text starting with the line number, at the first difference.
    void run(const Case& script);
    /// The frames of both directions and what else happened, newest last, for messages.
    [[nodiscard]] const std::deque<std::string>& log() const { return log_; }

  private:
    /// after=EARLIEST..LATEST, counted from the frame before.
    struct Window {
        Nanoseconds earliest = 0;
        Nanoseconds latest = 0;
    };
    struct SentFrame {
        test::FrameBytes bytes;
        Nanoseconds time = 0;
    };
    struct QpEntry {
        test::TestQp qp;
        test::TestDriver::PathOptions options;
        packet::NetworkPath to_card;                   ///< what the peer sends
        std::map<std::uint32_t, std::uint64_t> sends;  ///< wqe_index -> wr
    };

    using Directive = void (Runner::*)(Words&);

    void run_lines(const std::vector<Line>& lines, std::size_t begin, std::size_t end);
    void run_line(const Line& line);
    void finish();

    // --- runner_objects.cpp: what a script sets up
    void make_mr(Words& words);
    void make_srq(Words& words);
    void make_qp(Words& words);
    void modify_qp(Words& words);
    void post(Words& words);
    void destroy(Words& words);
    void link(Words& words);
    void need(Words& words);
    void only(Words& words);
    void fill(Words& words);
    void break_memory(Words& words);
    void make_window(Words& words);

    // --- runner_checks.cpp: what a script expects
    void check_cqe(Words& words);
    void check_event(Words& words);
    void check_memory(Words& words);
    void check_counter(Words& words);
    void check_qp_counter(Words& words);
    void check_state(Words& words);
    void check_query(Words& words);
    void check_nothing(Words& words);
    void ignore(Words& words);

    // --- runner.cpp: frames and time
    void inject(std::string_view rest);
    void expect(std::string_view rest);
    void allow(std::string_view rest);
    void pass_time(Words& words);
    void advance_to(Nanoseconds target);
    /// Settles; lets time pass up to `limit` until `done`.
    void wait_until(const std::function<bool()>& done, Nanoseconds limit);
    static Window read_window(std::string_view text);
    [[nodiscard]] bool in_time(const std::optional<Window>& window, Nanoseconds time) const;

    // --- names in a script: mr1, mr1+64, mr1-1, mr1^1
    std::string resolve(std::string_view key, std::string_view value) const;
    std::string resolve_line(std::string_view line) const;
    std::uint32_t key_of(std::string_view text) const;
    std::uint64_t address_of(std::string_view text) const;
    std::vector<dingo_sge> sges_of(std::string_view text) const;
    const test::Mr& mr(std::string_view name) const;
    QpEntry& qp(std::uint64_t qpn);
    QpEntry& last_qp();
    packet::NetworkPath path_to_card(std::uint32_t qpn) const;
    packet::NetworkPath path_from_card(std::uint32_t dest_qpn) const;
    packet::NetworkPath peer_path(unsigned gid) const;
    std::span<std::byte> memory(std::string_view place, std::size_t length);
    void note(std::string text);

    const std::string engine_;
    test::OneCard card_;
    test::Cq cq_;
    std::map<std::string, test::Mr, std::less<>> mrs_;
    std::map<std::uint64_t, test::Srq> srqs_;
    std::map<std::uint64_t, QpEntry> qps_;
    std::uint64_t last_qpn_ = 0;
    std::deque<SentFrame> frames_;
    Nanoseconds last_frame_ = 0;
    std::deque<std::string> log_;
};

}  // namespace dingo::wire
