// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <initializer_list>
#include <string>

namespace rdma_bench {

/// A library loaded at run time. It is never unloaded, because GPU drivers run threads of their
/// own.
class SharedLibrary {
  public:
    /// Tries `names` in order. The object is false if none can be loaded.
    explicit SharedLibrary(std::initializer_list<const char*> names);

    explicit operator bool() const { return handle_ != nullptr; }
    /// Error text of the dynamic linker for the first name.
    [[nodiscard]] const std::string& error() const { return error_; }

    /// Returns null if the library has no such symbol.
    template <typename Function>
    Function* find(const char* symbol) const {
        return reinterpret_cast<Function*>(address(symbol));
    }
    /// @throws std::runtime_error if the library has no such symbol
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
