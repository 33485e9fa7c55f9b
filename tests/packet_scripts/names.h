// SPDX-License-Identifier: BSD-2-Clause
//
// The contract's names as scripts write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dingo::wire {

/// All throw ScriptError on a name that does not exist.
std::uint8_t status_value(std::string_view name);        ///< "WR_FLUSH_ERR", enum wcs
std::uint8_t vendor_error_value(std::string_view name);  ///< "NAK_ACCESS", enum verr
std::uint8_t opcode_value(std::string_view name);        ///< "SEND", "RECV_IMM", enums wr and wc
std::uint8_t event_value(std::string_view name);         ///< "QP_FATAL", enum ev
std::uint8_t state_value(std::string_view name);         ///< "rts" or "RTS", enum qps
std::uint64_t capability_value(std::string_view name);   ///< "ATOMIC", enum cap
unsigned card_counter(std::string_view name);            ///< "out_of_sequence"
unsigned qp_counter(std::string_view name);              ///< "acks_sent"
/// Letters l (local write), w, r, a (remote write, read, atomic), b (bind); "-" for none.
std::uint32_t access_value(std::string_view letters);

/// The other way, for messages.
std::string status_text(std::uint8_t value);
std::string vendor_error_text(std::uint8_t value);
std::string opcode_text(std::uint8_t value);
std::string event_text(std::uint8_t value);
std::string state_text(std::uint8_t value);

}  // namespace dingo::wire
