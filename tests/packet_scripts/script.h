// SPDX-License-Identifier: BSD-2-Clause
//
// A packet script as lines of words. README.md has the grammar.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dingo::wire {

/// What is wrong with a script, or with what the card did; the runner adds file and line.
class ScriptError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// `key=value`, or a bare word (then value is empty and has_value false).
struct Word {
    std::string key;
    std::string value;
    bool has_value = false;
};

struct Line {
    unsigned number = 0;  ///< 1-based, in the file
    std::string text;     ///< without comment and surrounding blanks
    std::string verb;     ///< first word
    std::vector<Word> words;
};

/// One case has a card of its own.
struct Case {
    std::string name;
    std::vector<Line> lines;
};

/// The cases of a file. Lines before the first `case` are put in front of each case, so that a
/// file sets its objects up once. Throws ScriptError with a line number.
std::vector<Case> read_script(std::string_view text);

/// The words of one line as parameters: each is taken once, the rest is an error.
class Words {
  public:
    explicit Words(std::vector<Word> words) : words_(std::move(words)) {}

    /// The next word that is no `key=value`; throws when there is none.
    std::string bare(std::string_view what);
    /// Takes a bare word if it is there.
    bool flag(std::string_view word);
    /// Takes the value of a key.
    std::optional<std::string> value(std::string_view key);
    std::uint64_t number(std::string_view key, std::uint64_t otherwise);
    std::uint64_t number(std::string_view key);  ///< throws when it is missing
    /// Throws when a word was not taken.
    void end() const;

  private:
    std::vector<Word> words_;
};

/// Decimal or 0x-hexadecimal; throws on anything else.
std::uint64_t read_number(std::string_view text);
/// "10us", "1.5ms", "2s", "7ns" in nanoseconds.
std::uint64_t read_time(std::string_view text);
/// hex:00ff, pattern:BYTES[@OFFSET], zero:BYTES or fill:BYTES:VALUE.
std::vector<std::byte> read_bytes(std::string_view text);

}  // namespace dingo::wire
