// SPDX-License-Identifier: BSD-2-Clause
//
// Compares a frame that came out of the card with the line that expects it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "dingo/packet/headers.h"

namespace dingo::wire {

/// The frame as a line of the grammar, for messages; never fails.
std::string describe(std::span<const std::byte> frame);

/// Empty when `frame` is a well-formed RoCE frame with a good ICRC that has every word of `line`
/// (a packet in the grammar of dingo/packet/text.h; `!flag` = the flag is not set; `payload=any`),
/// and travels on `path` as far as the line does not say otherwise. Else says what differs.
/// Without payload= there must be none. Throws ScriptError when the line is wrong.
std::string mismatch(std::span<const std::byte> frame, std::string_view line,
                     const packet::NetworkPath& path);

}  // namespace dingo::wire
