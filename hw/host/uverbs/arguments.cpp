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
    places_.push_back({index, va, bytes.size(), false, {bytes.begin(), bytes.end()}});
}

void Arguments::add_room(std::uint32_t index, std::uint64_t va, std::size_t length) {
    places_.push_back({index, va, length, true, {}});
}

void Arguments::add_attributes(std::uint64_t va, std::span<const std::byte> bytes) {
    places_.push_back({0, va, bytes.size(), true, {bytes.begin(), bytes.end()}});
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
    const auto found = std::ranges::find_if(places_, [&](const Place& p) {
        return p.writable && holds(p.va, p.length, va, src.size());
    });
    if (found == places_.end()) {
        return false;
    }
    Place& place = *found;
    const std::size_t at = va - place.va;
    if (place.result.empty()) {
        place.offset = at;
    }
    const std::size_t begin = std::min(place.offset, at);
    const std::size_t old_end = place.offset + place.result.size();
    const std::size_t end = std::max(old_end, at + src.size());
    const bool adjoins = at <= old_end && place.offset <= at + src.size();
    if (!adjoins && place.bytes.empty()) {
        return false;
    }
    const auto as_it_was = [&](std::size_t from, std::size_t to) {
        return place.bytes.empty()
                   ? std::vector<std::byte>(to - from)
                   : std::vector<std::byte>(place.bytes.begin() + static_cast<std::ptrdiff_t>(from),
                                            place.bytes.begin() + static_cast<std::ptrdiff_t>(to));
    };
    const auto before = as_it_was(begin, place.offset);
    const auto behind = as_it_was(old_end, end);
    place.result.insert(place.result.begin(), before.begin(), before.end());
    place.result.insert(place.result.end(), behind.begin(), behind.end());
    place.offset = begin;
    std::ranges::copy(src, place.result.begin() + static_cast<std::ptrdiff_t>(at - begin));
    return true;
}

void Arguments::forget_inputs() {
    for (Place& place : places_) {
        place.bytes = {};
    }
}

std::size_t Arguments::num_input_bytes() const {
    std::size_t sum = 0;
    for (const Place& place : places_) {
        sum += place.bytes.size();
    }
    return sum;
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
            all.push_back({place.index, static_cast<std::uint32_t>(place.offset),
                           static_cast<std::uint32_t>(place.result.size())});
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
