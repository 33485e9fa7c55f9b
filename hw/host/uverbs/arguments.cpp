// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/arguments.h"

#include <algorithm>

namespace dingo::uverbs {
namespace {

bool holds(std::uint64_t begin, std::size_t size, std::uint64_t va, std::size_t length) {
    return va >= begin && length <= size && va - begin <= size - length;
}

}  // namespace

void Arguments::add(std::uint32_t index, std::uint64_t va, std::span<const std::byte> bytes) {
    places_.push_back({index, va, {bytes.begin(), bytes.end()}, {}});
}

bool Arguments::read(std::uint64_t va, std::span<std::byte> dst) const {
    const auto place = std::ranges::find_if(
        places_, [&](const Place& p) { return holds(p.va, p.bytes.size(), va, dst.size()); });
    if (place == places_.end()) {
        return false;
    }
    std::copy_n(place->bytes.begin() + static_cast<std::ptrdiff_t>(va - place->va), dst.size(),
                dst.begin());
    return true;
}

bool Arguments::write(std::uint64_t va, std::span<const std::byte> src) {
    const auto place = std::ranges::find_if(
        places_, [&](const Place& p) { return holds(p.va, p.bytes.size(), va, src.size()); });
    if (place == places_.end()) {
        return false;
    }
    const auto at = static_cast<std::ptrdiff_t>(va - place->va);
    const std::size_t end = static_cast<std::size_t>(at) + src.size();
    for (std::size_t next = place->result.size(); next < end; ++next) {
        place->result.push_back(place->bytes[next]);
    }
    std::ranges::copy(src, place->result.begin() + at);
    return true;
}

void Arguments::forget_results() {
    for (Place& place : places_) {
        place.result.clear();
    }
}

std::vector<dingo_uverbs_result> Arguments::results() const {
    std::vector<dingo_uverbs_result> all;
    for (const Place& place : places_) {
        if (!place.result.empty()) {
            all.push_back({place.index, static_cast<std::uint32_t>(place.result.size())});
        }
    }
    return all;
}

std::vector<std::byte> Arguments::result_bytes() const {
    std::vector<std::byte> all;
    for (const Place& place : places_) {
        all.insert(all.end(), place.result.begin(), place.result.end());
    }
    return all;
}

std::size_t Arguments::num_result_bytes() const {
    std::size_t sum = 0;
    for (const Place& place : places_) {
        sum += place.result.size();
    }
    return sum;
}

}  // namespace dingo::uverbs
