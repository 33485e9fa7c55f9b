// SPDX-License-Identifier: BSD-2-Clause
#include "c/convert.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "qpx/error.h"

namespace qpx::c {

namespace {

template <std::size_t Size>
std::string text_of(const char (&text)[Size], const char* what) {
    const std::size_t length = strnlen(text, Size);
    if (length == Size) {
        throw Error(ErrorCode::Argument, std::string(what) + " has no NUL at its end");
    }
    return {text, length};
}

template <std::size_t Size>
void copy_text(char (&out)[Size], const std::string& text) {
    const std::size_t length = std::min(text.size(), Size - 1);
    std::copy_n(text.begin(), length, out);
    std::fill(out + length, out + Size, '\0');
}

template <class T>
T* allocate(std::size_t count) {
    if (count == 0) {
        return nullptr;
    }
    auto* memory = static_cast<T*>(std::calloc(count, sizeof(T)));
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

void check_pointer(const void* pointer, std::size_t count, const char* what) {
    if (pointer == nullptr && count != 0) {
        throw Error(ErrorCode::Argument, std::string(what) + " is NULL and not empty");
    }
}

}  // namespace

Endpoint from_c(const qpx_endpoint& e) {
    check_pointer(e.regions, e.region_count, "regions");
    check_pointer(e.application, e.application_length, "application");
    if (e.type > 255) {
        throw Error(ErrorCode::Argument,
                    "QP type " + std::to_string(e.type) + " is none of QPX_RC, QPX_UC, QPX_UD");
    }
    Endpoint out;
    out.device = text_of(e.device, "device");
    std::copy(std::begin(e.gid), std::end(e.gid), out.gid.begin());
    out.qpn = e.qpn;
    out.psn = e.psn;
    out.qkey = e.qkey;
    out.srqn = e.srqn;
    out.mtu = e.mtu;
    out.type = static_cast<QpType>(e.type);
    out.lid = e.lid;
    out.port = e.port;
    out.max_rd_atomic = e.max_rd_atomic;
    out.max_dest_rd_atomic = e.max_dest_rd_atomic;
    for (const qpx_region& r : std::span(e.regions, e.region_count)) {
        out.regions.push_back({r.address, r.length, r.rkey, text_of(r.tag, "a region's tag")});
    }
    const auto* bytes = static_cast<const std::byte*>(e.application);
    out.application.assign(bytes, bytes + e.application_length);
    return out;
}

void fill(qpx_endpoint& out, const Endpoint& e) {
    out = {};
    copy_text(out.device, e.device);
    std::copy(e.gid.begin(), e.gid.end(), out.gid);
    out.qpn = e.qpn;
    out.psn = e.psn;
    out.qkey = e.qkey;
    out.srqn = e.srqn;
    out.mtu = e.mtu;
    out.type = static_cast<std::uint32_t>(e.type);
    out.lid = e.lid;
    out.port = e.port;
    out.max_rd_atomic = e.max_rd_atomic;
    out.max_dest_rd_atomic = e.max_dest_rd_atomic;
}

qpx_endpoint* to_c(std::span<const Endpoint> endpoints) {
    auto* list = allocate<qpx_endpoint>(endpoints.size());
    try {
        for (std::size_t i = 0; i < endpoints.size(); ++i) {
            const Endpoint& e = endpoints[i];
            fill(list[i], e);
            list[i].regions = allocate<qpx_region>(e.regions.size());
            list[i].region_count = e.regions.size();
            for (std::size_t r = 0; r < e.regions.size(); ++r) {
                list[i].regions[r] = {
                    e.regions[r].address, e.regions[r].length, e.regions[r].rkey, {}};
                copy_text(list[i].regions[r].tag, e.regions[r].tag);
            }
            list[i].application = allocate<std::byte>(e.application.size());
            list[i].application_length = e.application.size();
            if (!e.application.empty()) {
                std::memcpy(list[i].application, e.application.data(), e.application.size());
            }
        }
    } catch (...) {
        qpx_endpoints_free(list, endpoints.size());
        throw;
    }
    return list;
}

}  // namespace qpx::c

void qpx_endpoints_free(qpx_endpoint* endpoints, std::size_t count) {
    if (endpoints == nullptr) {
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        std::free(endpoints[i].regions);
        std::free(endpoints[i].application);
    }
    std::free(endpoints);
}
