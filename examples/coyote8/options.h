// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace coyote8 {

enum class Operation { kRead, kWrite };

/// Options of Coyote's example 8, and additional ones for the RDMA device.
struct Options {
    std::string server;  ///< address or name; empty: this side is the server
    Operation operation = Operation::kRead;
    std::uint32_t min_size = 64;         ///< bytes
    std::uint32_t max_size = 1U << 20U;  ///< bytes
    std::uint32_t runs = 10;
    std::string device;  ///< empty: the first
    std::uint8_t ib_port = 1;
    int gid_index = -1;  ///< -1: chosen by the address of the connection
    std::uint16_t tcp_port = 18488;
    std::string memory = "host";
    std::string security = "none";  ///< for qpx::parse_security()

    [[nodiscard]] bool is_client() const { return !server.empty(); }
};

/// Thrown for --help: what() is the text to print before the program exits with status 0.
class HelpWanted : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// @param arguments without the program's name
/// @throws std::invalid_argument with what is wrong, HelpWanted
Options parse_options(std::span<const std::string> arguments);

}  // namespace coyote8
