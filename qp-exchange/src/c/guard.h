// SPDX-License-Identifier: BSD-2-Clause
// Around every call of the C interface: exceptions become codes, and a text for the thread.
#pragma once
#include <exception>
#include <string>

#include "qpx/error.h"
#include "qpx/qpx.h"

namespace qpx::c {

/// Keeps the text for qpx_last_error(). @return -code
int failed(int code, const char* text) noexcept;
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

/// @throws Error(Argument) for NULL
inline void want(const void* pointer, const char* what) {
    if (pointer == nullptr) {
        throw Error(ErrorCode::Argument, std::string(what) + " is NULL");
    }
}

}  // namespace qpx::c
