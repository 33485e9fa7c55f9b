// SPDX-License-Identifier: BSD-2-Clause
#include "c/convert.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "c/guard.h"
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

std::vector<GidCandidate> candidates_of(const qpx_endpoint& e) {
    if (e.candidate_count > QPX_MAX_CANDIDATES) {
        throw Error(ErrorCode::Argument, "candidate_count is " + std::to_string(e.candidate_count) +
                                             ": at most " + std::to_string(QPX_MAX_CANDIDATES));
    }
    std::vector<GidCandidate> all;
    for (const qpx_candidate& c : std::span(e.candidates, e.candidate_count)) {
        GidCandidate& one = all.emplace_back();
        std::copy(std::begin(c.gid), std::end(c.gid), one.gid.begin());
        one.type = static_cast<GidCandidate::Type>(c.type);
        one.wish = static_cast<GidCandidate::Wish>(c.wish);
        one.prefix = c.prefix;
    }
    return all;
}

}  // namespace

Endpoint from_c(const qpx_endpoint& e) {
    want_unused(&e.reserved_flags, sizeof(e.reserved_flags), "the endpoint");
    want_unused(e.reserved_more, sizeof(e.reserved_more), "the endpoint");
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
    out.candidates = candidates_of(e);
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
    out.candidate_count =
        static_cast<std::uint32_t>(std::min<std::size_t>(e.candidates.size(), QPX_MAX_CANDIDATES));
    for (std::uint32_t i = 0; i < out.candidate_count; ++i) {
        const GidCandidate& c = e.candidates[i];
        qpx_candidate& one = out.candidates[i];
        std::copy(c.gid.begin(), c.gid.end(), one.gid);
        one.type = static_cast<std::uint8_t>(c.type);
        one.wish = static_cast<std::uint8_t>(c.wish);
        one.prefix = c.prefix;
        one.gid_index = -1;
    }
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
