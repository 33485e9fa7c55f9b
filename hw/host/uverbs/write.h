// SPDX-License-Identifier: BSD-2-Clause
// The commands of ib_uverbs' write() interface, sent by write() or wrapped in the ioctl method
// INVOKE_WRITE: one table for both.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "host/uverbs/call.h"

namespace dingo::uverbs {

/// Location of a command's arguments.
struct WriteBuffers {
    std::span<const std::byte> in;
    std::uint64_t out_va = 0;
    std::size_t out_len = 0;
    std::span<const std::byte> driver_in;
    std::uint64_t driver_out_va = 0;
    std::size_t driver_out_len = 0;
};

class WriteCall {
  public:
    WriteCall(Call& c, const WriteBuffers& buffers) : call(c), buffers_(buffers) {
        udata.in = buffers.driver_in;
    }

    Call& call;
    Udata udata;

    /// Returns the command; missing bytes are zero. Throws ErrnoError(EOPNOTSUPP) if surplus bytes
    /// are not zero.
    template <typename T>
    [[nodiscard]] T request() const {
        T value;
        std::memset(&value, 0, sizeof value);
        std::memcpy(&value, buffers_.in.data(), std::min(buffers_.in.size(), sizeof value));
        check_surplus(sizeof value);
        return value;
    }

    /// Writes the answer, truncated to the client's room, followed by the driver's answer.
    template <typename T>
    void respond(const T& value) {
        respond_bytes(std::as_bytes(std::span(&value, 1)));
    }
    /// The length that an extended answer reports for itself.
    template <typename T>
    [[nodiscard]] std::uint32_t response_length() const {
        return static_cast<std::uint32_t>(std::min(buffers_.out_len, sizeof(T)));
    }
    /// Passes `fd` to the client, which stores its number at `offset` of the answer.
    void give(UniqueFd fd, std::size_t offset, dingo_uverbs_fd_kind kind) {
        call.give(std::move(fd), buffers_.out_va + offset, 4, kind);
    }

  private:
    void check_surplus(std::size_t known) const;
    void respond_bytes(std::span<const std::byte> bytes);

    const WriteBuffers& buffers_;
};

struct WriteMethod {
    std::size_t request_size = 0;
    std::size_t response_size = 0;
    bool has_driver_data = false;  ///< classic commands; extended ones specify its length
    void (*handler)(WriteCall&) = nullptr;
};

/// `command` may include IB_USER_VERBS_CMD_FLAG_EXTENDED. Throws ErrnoError: EINVAL, EOPNOTSUPP.
const WriteMethod& write_method(std::uint32_t command);

/// Executes a write() and returns its result.
int execute_write(Call& call);

/// Writes the driver's answer, truncated to the client's room, and passes its descriptors.
void put_driver_answer(Call& call, Udata& udata, std::uint64_t va, std::size_t length);

// The handlers, by source file.
namespace handlers {
void get_context(WriteCall& c);  // write_device.cpp
void query_device(WriteCall& c);
void query_device_ex(WriteCall& c);
void query_port(WriteCall& c);
void create_comp_channel(WriteCall& c);
void alloc_pd(WriteCall& c);  // write_pd.cpp
void dealloc_pd(WriteCall& c);
void create_ah(WriteCall& c);
void destroy_ah(WriteCall& c);
void reg_mr(WriteCall& c);  // write_mr.cpp
void rereg_mr(WriteCall& c);
void dereg_mr(WriteCall& c);
void alloc_mw(WriteCall& c);
void dealloc_mw(WriteCall& c);
void create_cq(WriteCall& c);  // write_cq.cpp
void create_cq_ex(WriteCall& c);
void resize_cq(WriteCall& c);
void modify_cq_ex(WriteCall& c);
void destroy_cq(WriteCall& c);
void create_qp(WriteCall& c);  // write_qp.cpp
void create_qp_ex(WriteCall& c);
void query_qp(WriteCall& c);
void modify_qp(WriteCall& c);
void modify_qp_ex(WriteCall& c);
void destroy_qp(WriteCall& c);
void attach_mcast(WriteCall& c);
void detach_mcast(WriteCall& c);
void create_srq(WriteCall& c);  // write_srq.cpp
void create_xsrq(WriteCall& c);
void modify_srq(WriteCall& c);
void query_srq(WriteCall& c);
void destroy_srq(WriteCall& c);
}  // namespace handlers

}  // namespace dingo::uverbs
