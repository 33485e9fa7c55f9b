// SPDX-License-Identifier: BSD-2-Clause
#include "fake_far_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace dingo::test {

FarMemory::Access FakeFarMemory::read(Stream stream, std::uint64_t message, std::uint64_t addr,
                                      std::span<std::byte> dst, std::uint64_t ahead) {
    State& s = streams_[stream];
    if (s.message != message) {
        s.message = message;
        began.emplace_back(message, addr);
        s.pieces.clear();
    }
    auto [at, added] = s.pieces.try_emplace(addr);
    if (added || at->second.bytes.size() < dst.size()) {
        at->second = {};
        at->second.bytes.resize(dst.size());
        waiting_.push_back({Waiting::Kind::kRead, stream, addr, message, {}, {}});
        EXPECT_GE(ahead, dst.size());
    }
    const Piece& piece = at->second;
    if (!piece.here)
        return Access::kLater;
    if (piece.failed)
        return Access::kError;
    std::ranges::copy(std::span(piece.bytes).first(dst.size()), dst.begin());
    fetched_bytes += dst.size();
    return Access::kDone;
}

bool FakeFarMemory::refer(Stream stream, std::uint64_t message, std::uint64_t addr,
                          std::size_t bytes, std::uint64_t /*ahead*/, Elsewhere& where) {
    struct Copy final : HeldMemory {
        std::vector<std::byte> bytes;
    };
    const State& s = streams_[stream];
    const auto piece = s.pieces.find(addr);
    if (!refers || s.message != message || piece == s.pieces.end() || !piece->second.here ||
        piece->second.failed || piece->second.bytes.size() < bytes)
        return false;
    auto copy = std::make_shared<Copy>();
    copy->bytes = piece->second.bytes;
    where = {copy->bytes.data(), copy};
    ++referred;
    return true;
}

FarMemory::Access FakeFarMemory::write(Stream stream, std::uint64_t addr,
                                       std::span<const std::byte> src) {
    if (full || broken)
        return broken ? Access::kError : Access::kLater;
    static_cast<void>(streams_[stream]);
    waiting_.push_back({Waiting::Kind::kWrite, stream, addr, 0, {src.begin(), src.end()}, {}});
    return Access::kDone;
}

FarMemory::Access FakeFarMemory::atomic(Stream stream, std::uint64_t addr, const Atomic& request) {
    if (full || broken)
        return broken ? Access::kError : Access::kLater;
    static_cast<void>(streams_[stream]);
    waiting_.push_back({Waiting::Kind::kAtomic, stream, addr, 0, {}, request});
    return Access::kDone;
}

std::uint64_t FakeFarMemory::atomic_result(Stream stream) {
    auto& results = streams_[stream].results;
    EXPECT_FALSE(results.empty());
    const std::uint64_t result = results.empty() ? 0 : results.front();
    results.pop_front();
    return result;
}

void FakeFarMemory::make(const Waiting& access) {
    const auto found = streams_.find(access.stream);
    if (found == streams_.end())
        return;
    State& s = found->second;
    if (access.kind == Waiting::Kind::kRead) {
        const auto piece = s.pieces.find(access.addr);
        if (s.message != access.message || piece == s.pieces.end())
            return;
        piece->second.failed = !host_.dma_read(access.addr, piece->second.bytes);
        piece->second.here = true;
        return;
    }
    if (s.progress.failed)
        return;
    bool ok = true;
    if (access.kind == Waiting::Kind::kWrite) {
        ok = host_.dma_write(access.addr, access.data);
    } else {
        std::array<std::byte, sizeof(std::uint64_t)> bytes{};
        ok = host_.dma_read(access.addr, bytes);
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data(), sizeof value);
        s.results.push_back(value);
        if (!access.request.swap || value == access.request.compare) {
            value = access.request.swap ? access.request.operand : value + access.request.operand;
            std::memcpy(bytes.data(), &value, sizeof value);
            ok = ok && host_.dma_write(access.addr, bytes);
        }
    }
    s.progress.done += ok ? 1 : 0;
    s.progress.failed = !ok;
}

void FakeFarMemory::make(std::size_t count) {
    for (; count != 0 && !waiting_.empty(); --count) {
        make(waiting_.front());
        waiting_.pop_front();
        moved_ = true;
    }
}

bool FakeFarMemory::moved() {
    make(pace);
    return std::exchange(moved_, false);
}

bool FakeFarMemory::wait() {
    if (!waits || waiting_.empty())
        return false;
    make(1);
    return true;
}

void FakeFarMemory::end(Stream stream) {
    streams_.erase(stream);
}

}  // namespace dingo::test
