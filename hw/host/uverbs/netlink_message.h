// SPDX-License-Identifier: BSD-2-Clause
//
// Builds netlink messages with libnl; nested tables end before the message gets too long.
#pragma once

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace dingo::uverbs {

/// A netlink message under construction.
class NetlinkMessage {
  public:
    /// Buffer size of programs that read netlink through libmnl.
    static constexpr std::size_t kMostBytes = 4096;

    NetlinkMessage(std::uint32_t sequence, int type, int flags)
        : message_(nlmsg_alloc_size(2 * kMostBytes)) {
        if (!message_ || nlmsg_put(message_.get(), 0, sequence, type, 0, flags) == nullptr) {
            throw std::bad_alloc();
        }
    }
    void u8(int type, std::uint8_t value) { done(nla_put_u8(message_.get(), type, value)); }
    void u32(int type, std::uint32_t value) { done(nla_put_u32(message_.get(), type, value)); }
    void u64(int type, std::uint64_t value) { done(nla_put_u64(message_.get(), type, value)); }
    void text(int type, const std::string& value) {
        done(nla_put_string(message_.get(), type, value.c_str()));
    }
    [[nodiscard]] nlattr* begin(int type) {
        nlattr* const nest = nla_nest_start(message_.get(), type);
        done(nest == nullptr ? -1 : 0);
        return nest;
    }
    /// Ends a nested table, which is kept even if empty.
    void end(nlattr* nest) { nla_nest_end_keep_empty(message_.get(), nest); }
    [[nodiscard]] std::size_t bytes() const { return nlmsg_hdr(message_.get())->nlmsg_len; }
    void append_to(std::vector<std::byte>& out) const {
        const auto* const at = reinterpret_cast<const std::byte*>(nlmsg_hdr(message_.get()));
        out.insert(out.end(), at, at + NLMSG_ALIGN(bytes()));
    }

  private:
    struct Free {
        void operator()(nl_msg* message) const { nlmsg_free(message); }
    };
    static void done(int result) {
        if (result < 0) {
            throw std::bad_alloc();
        }
    }
    std::unique_ptr<nl_msg, Free> message_;
};

}  // namespace dingo::uverbs
