// SPDX-License-Identifier: BSD-2-Clause
#include "fake_engine.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "dingo_hw.h"

namespace dingo::test {

FakeEngine::FakeEngine(const EngineConfig& config, HostPort& host, WirePort& wire)
    : config_(config), host_(host), wire_(wire) {
    last = this;
    reset();
    resets = 0;
}

void FakeEngine::reset() {
    ++resets;
    registers_ = {{DINGO_REG_MAGIC, 0x4F474E44},
                  {DINGO_REG_VERSION, 1u << 16},
                  {DINGO_REG_DB_PAGES, kDoorbellPages},
                  {DINGO_REG_VECTORS, kVectors},
                  {DINGO_REG_CAPS, config_.memory_doorbells ? DINGO_CAP_DB_MEMORY : 0}};
    deadline_ = kNever;
    work_ = 0;
    doorbells.clear();
    frames.clear();
}

std::uint64_t FakeEngine::mmio_read(Bar bar, std::uint64_t offset, unsigned size) {
    if (bar == Bar::kRegisters && offset == DINGO_REG_CLOCK && size == 8) {
        return now_;
    }
    const auto it = bar == Bar::kRegisters ? registers_.find(offset) : registers_.end();
    const std::uint64_t mask = size == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * size) - 1;
    return it == registers_.end() ? 0 : it->second & mask;
}

void FakeEngine::mmio_write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned) {
    if (bar == Bar::kRegisters) {
        registers_[offset] = value;
        return;
    }
    doorbells.emplace_back(offset, value);
    act(value);
}

void FakeEngine::act(std::uint64_t value) {
    const std::uint64_t argument = value >> 8 & ((std::uint64_t{1} << 40) - 1);
    std::array<std::byte, 64> buffer{};
    switch (value & 0xFF) {
        case kCopy:
            if (host_.dma_read(argument, buffer) && host_.dma_write(argument + 64, buffer)) {
                host_.raise_msix(1);
            }
            break;
        case kSend:
            if (const auto room = wire_.begin_frame(buffer.size());
                !room.empty() && host_.dma_read(argument, buffer)) {
                std::copy(buffer.begin(), buffer.end(), room.begin());
                wire_.end_frame(buffer.size());
            }
            break;
        case kTimer:
            deadline_ = now_ + argument;
            break;
        case kWork:
            work_ = argument;
            break;
        case kFail:
            fails_ = true;
            break;
        default:
            break;
    }
}

void FakeEngine::receive(std::span<const std::byte> frame) {
    frames.emplace_back(frame.begin(), frame.end());
    if (const std::uint64_t to = registers_[0x108]; to != 0 && host_.dma_write(to, frame)) {
        host_.raise_msix(4);
    }
}

bool FakeEngine::run(Nanoseconds now, unsigned budget) {
    now_ = now;
    if (std::exchange(fails_, false)) {
        throw std::runtime_error("the engine has failed");
    }
    if (deadline_ <= now) {
        deadline_ = kNever;
        host_.raise_msix(2);
    }
    if (work_ != 0) {
        work_ -= std::min<std::uint64_t>(work_, budget);
        if (work_ == 0) {
            host_.raise_msix(3);
        }
    }
    return work_ != 0;
}

void register_fake_engine() {
    register_engine("fake", [](const EngineConfig& config, HostPort& host, WirePort& wire) {
        return std::unique_ptr<Engine>(std::make_unique<FakeEngine>(config, host, wire));
    });
}

}  // namespace dingo::test
