// SPDX-License-Identifier: BSD-2-Clause
#include "card_memory.h"

#include <charconv>
#include <cstdio>
#include <cstring>

namespace p2p {

Context open_card(const std::string& name, unsigned n) {
    unsigned cards = 0;
    Context context = examples::find_device(name, n, cards);
    if (!context)
        throw std::runtime_error("Dingo cards here: " + std::to_string(cards) +
                                 ", needed: " + std::to_string(n + 1));
    return context;
}

Memory allocate(ibv_context* context, std::size_t bytes) {
    ibv_alloc_dm_attr attr{};
    attr.length = bytes;
    Memory memory(ibv_alloc_dm(context, &attr));
    if (memory)
        return memory;
    const std::string name = ibv_get_device_name(context->device);
    if (errno == EOPNOTSUPP)
        throw std::runtime_error(name + " has no card memory: 'dingo p2p query' says why");
    if (errno == ENOMEM)
        throw std::runtime_error(name + " has not so much card memory free");
    fail("ibv_alloc_dm", errno);
}

void put(ibv_dm* memory, std::span<const std::byte> bytes) {
    check(ibv_memcpy_to_dm(memory, 0, bytes.data(), bytes.size()), "ibv_memcpy_to_dm");
}

void fetch(ibv_dm* memory, std::span<std::byte> bytes) {
    check(ibv_memcpy_from_dm(bytes.data(), memory, 0, bytes.size()), "ibv_memcpy_from_dm");
}

void fill(std::span<std::byte> bytes, std::uint64_t seed) {
    std::uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
    for (std::byte& byte : bytes) {
        state = state * 6364136223846793005 + 1442695040888963407;
        byte = static_cast<std::byte>(state >> 56);
    }
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const std::byte byte : bytes)
        hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211;
    return hash;
}

CLI::Validator whole_pages() {
    return {[](std::string& text) {
                constexpr std::size_t kPage = 4096;
                std::size_t value = 0;
                const char* const end = text.data() + text.size();
                const auto result = std::from_chars(text.data(), end, value);
                return result.ec == std::errc{} && result.ptr == end && value != 0 &&
                               value % kPage == 0
                           ? std::string()
                           : "'" + text + "' is no multiple of 4096";
            },
            ""};
}

int run(const char* program, void (*body)(int, char**), int argc, char** argv) {
    try {
        body(argc, argv);
    } catch (const UsageError& error) {
        std::fprintf(stderr, "%s: %s\n", program, error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", program, error.what());
        return 1;
    }
    return 0;
}

}  // namespace p2p
