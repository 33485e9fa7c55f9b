// SPDX-License-Identifier: BSD-2-Clause
#include "kernels.h"

#include <array>
#include <cassert>

#include "modulus.h"
#include "words.h"

namespace dingo::model::compute {
namespace {

constexpr std::array kKernels = {
    Kernel{"pass", 0, 0, 1, nullptr},
    Kernel{"add_one", 0, 0, 4, add_one},
    Kernel{"dlrm", 1, UINT32_MAX, 192, dlrm},
};
static_assert(DINGO_KERNEL_PASS == 0 && DINGO_KERNEL_ADD_ONE == 1 && DINGO_KERNEL_DLRM == 2);

}  // namespace

std::span<const Kernel> kernels() noexcept {
    return kKernels;
}

Config configure(std::uint32_t kernel, std::uint32_t param) noexcept {
    return {kernel, param, reciprocal_of(param)};
}

void transform(const Config& config, std::uint32_t offset, std::span<std::byte> data) {
    assert(config.id < kKernels.size() && offset % kWord == 0);
    if (kKernels[config.id].words != nullptr) {
        kKernels[config.id].words(config, offset, data.first(data.size() - data.size() % kWord));
    }
}

}  // namespace dingo::model::compute
