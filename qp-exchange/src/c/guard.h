// SPDX-License-Identifier: BSD-2-Clause
// Wrappers of all calls of the C interface: convert
// exceptions to codes and the thread's last error.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "qpx/error.h"
#include "qpx/qpx.h"

namespace qpx::c {

/// Stores text and detail for qpx_last_error() and qpx_last_detail(). @return -code
int failed(int code, const char* text, int detail = 0) noexcept;
int failed(const Error& error) noexcept;

template <class Call>
int guarded(Call call) noexcept {
    try {
        call();
        return 0;
    } catch (const Error& error) {
        return failed(error);
    } catch (const std::exception& error) {
        return failed(QPX_EINTERNAL, error.what());
    }
}

/// Converts a structure of options to this library's version; members that the program's version
/// lacks are taken from `rest`. @param first size of the structure in version 0.1
/// @throws Error(Unsupported) if a longer one uses members that this library does not know
template <class Options>
Options sized(const Options& given, std::size_t first, Options rest = {}) {
    const std::size_t size = given.struct_size != 0 ? given.struct_size : first;
    if (size < first) {
        throw Error(ErrorCode::Argument, "struct_size is " + std::to_string(size) +
                                             ": set it to the size of the options structure");
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
    for (std::size_t i = sizeof(Options); i < size; ++i) {
        if (bytes[i] != 0) {
            throw Error(
                ErrorCode::Unsupported,
                "the options have members that this libqp-exchange does not know: it is older than "
                "the program");
        }
    }
    std::memcpy(&rest, &given, std::min(size, sizeof(Options)));
    return rest;
}

/// @throws Error(Unsupported) if reserved members are not 0
inline void want_unused(const void* room, std::size_t size, const char* what) {
    const auto* bytes = static_cast<const unsigned char*>(room);
    if (std::any_of(bytes, bytes + size, [](unsigned char byte) { return byte != 0; })) {
        throw Error(ErrorCode::Unsupported, std::string("reserved members of ") + what +
                                                " are not 0: zero the structure first, or update "
                                                "this library if it is older than the program");
    }
}

/// Copies bytes to memory that the program frees by free(). @throws std::bad_alloc
inline void* copy_out(const void* from, std::size_t size) {
    void* memory = std::malloc(std::max<std::size_t>(size, 1));
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    if (size != 0) {
        std::memcpy(memory, from, size);
    }
    return memory;
}

/// Like guarded(), for a call that returns a bool. @return 1, 0, or -code
template <class Call>
int guarded_bool(Call call) noexcept {
    bool result = false;
    const int status = guarded([&] { result = call(); });
    return status != 0 ? status : static_cast<int>(result);
}

/// @throws Error(Argument) for NULL
inline void want(const void* pointer, const char* what) {
    if (pointer == nullptr) {
        throw Error(ErrorCode::Argument, std::string(what) + " is NULL");
    }
}

}  // namespace qpx::c
