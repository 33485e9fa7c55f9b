// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <initializer_list>
#include <string>

namespace rdma_bench {

/// A library found at run time. It stays loaded until the process ends: GPU drivers have threads of
/// their own.
class SharedLibrary {
  public:
    /// Tries `names` in order; not loaded when none is there.
    explicit SharedLibrary(std::initializer_list<const char*> names);

    explicit operator bool() const { return handle_ != nullptr; }
    /// The dynamic linker's words about the first name.
    [[nodiscard]] const std::string& error() const { return error_; }

    /// Null when the library has no such symbol.
    template <typename Function>
    Function* find(const char* symbol) const {
        return reinterpret_cast<Function*>(address(symbol));
    }
    /// Throws std::runtime_error when the library has no such symbol.
    template <typename Function>
    Function* need(const char* symbol) const {
        return reinterpret_cast<Function*>(needed_address(symbol));
    }

  private:
    [[nodiscard]] void* address(const char* symbol) const;
    [[nodiscard]] void* needed_address(const char* symbol) const;

    void* handle_ = nullptr;
    std::string name_;
    std::string error_;
};

}  // namespace rdma_bench
