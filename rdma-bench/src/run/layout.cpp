// SPDX-License-Identifier: BSD-2-Clause
#include "run/layout.h"

#include <algorithm>

namespace rdma_bench {
namespace {

constexpr std::size_t kLine = 64, kPage = 4096;
/// Largest memory for the verified messages of one QP in a round.
constexpr std::size_t kVerifiedArea = std::size_t{16} << 20;
constexpr std::uint64_t kModerationLimit = 8192;

std::size_t round_up(std::size_t value, std::size_t unit) {
    return (value + unit - 1) / unit * unit;
}

Slots slots_for(const Options& options, std::size_t bytes) {
    const std::size_t stride = round_up(bytes, kLine);
    if (options.test.latency()) {
        return {stride, options.verify ? 2U : 1U};
    }
    if (!options.verify) {
        // Few slots for many QPs, so that their work requests stay in the cache.
        const unsigned most =
            *std::max_element(options.qps.begin(), options.qps.end()) > 4 ? 4 : 64;
        return {stride, std::clamp<unsigned>(static_cast<unsigned>(kPage / stride), 1, most)};
    }
    unsigned count = options.tx_depth;
    if (options.test.operation == Operation::kSend) {
        count = std::min(count, options.rx_depth);
        if (options.srq) {
            // -r is the depth of the SRQ, which must suffice for a round of all QPs that share it.
            const unsigned qps = *std::max_element(options.qps.begin(), options.qps.end());
            const unsigned share = (qps + options.threads - 1) / options.threads;
            count = std::min(count, std::max(1U, options.rx_depth / share));
        }
    }
    const auto fit = std::max<std::size_t>(1, kVerifiedArea / stride);
    return {stride, static_cast<unsigned>(std::min<std::size_t>(count, fit))};
}

}  // namespace

Slots out_slots(const Options& options, std::uint64_t size) {
    return slots_for(options, size);
}

Slots in_slots(const Options& options, std::uint64_t size) {
    const bool grh = options.connection == Connection::kUd;
    if (options.test.operation == Operation::kSend) {
        // Receives stay posted when the size changes.
        size = *std::max_element(options.sizes.begin(), options.sizes.end());
    }
    return slots_for(options, size + (grh ? kGrhSize : 0));
}

Layout make_layout(const Options& options) {
    Layout layout;
    for (const auto size : options.sizes) {
        layout.out_area =
            std::max(layout.out_area, round_up(out_slots(options, size).bytes(), kPage));
        layout.in_area = std::max(layout.in_area, round_up(in_slots(options, size).bytes(), kPage));
    }
    layout.qps = *std::max_element(options.qps.begin(), options.qps.end());
    return layout;
}

unsigned send_depth(const Options& options, std::uint64_t size) {
    unsigned depth = options.tx_depth;
    if (!options.duration && !options.run_infinitely) {
        depth = static_cast<unsigned>(std::min<std::uint64_t>(depth, options.iterations));
    }
    if (options.verify) {
        depth = std::min(depth,
                         std::min(out_slots(options, size).count, in_slots(options, size).count));
    }
    return std::max(1U, depth);
}

unsigned receive_depth(const Options& options, std::uint64_t size) {
    // All verified slots are posted.
    return options.verify ? in_slots(options, size).count : options.rx_depth;
}

unsigned completion_interval(const Options& options, std::uint64_t size) {
    if (options.test.latency() || options.rate > 0) {
        return 1;
    }
    unsigned interval = options.cq_moderation;
    if (!options.cq_moderation_given && size > kModerationLimit && !options.all_sizes) {
        interval = 1;
    }
    const unsigned list = options.post_list;
    const unsigned depth = send_depth(options, size);
    interval = (std::min(interval, depth) + list - 1) / list * list;
    return std::max(list, interval > depth ? depth / list * list : interval);
}

}  // namespace rdma_bench
