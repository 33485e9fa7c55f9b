// SPDX-License-Identifier: BSD-2-Clause
//
// Packed SystemVerilog structures as C++ structures. A structure lists its members in the order of
// declaration: `template <class V> void fields(V& v) { v(member, bits); ... }`, from the highest
// bit down. Members are integers, enums or arrays of 32-bit words.
#pragma once

#include <verilated.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rtl {

/// Word `index` of a port of any width; word 0 has bits 31:0.
template <class Port>
std::uint32_t word_of(const Port& port, std::size_t index) {
    if constexpr (std::is_integral_v<Port>)
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(port) >> (32 * index));
    else
        return port[index];
}

/// Bits [at, at + count) of `words`; count <= 32.
template <class Word>
std::uint32_t get_bits(const Word& words, unsigned at, unsigned count) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i)
        value |= (word_of(words, (at + i) / 32) >> ((at + i) % 32) & 1U) << i;
    return value;
}

/// Counts the bits of a structure.
struct Counter {
    unsigned bits = 0;
    template <class T>
    void operator()(T&, unsigned count) {
        bits += count;
    }
};

template <std::size_t kWords>
struct Packer {
    std::array<std::uint32_t, kWords>& words;
    unsigned at;  ///< bits below this one are still to be filled
    void put(std::uint64_t value, unsigned count) {
        at -= count;
        for (unsigned i = 0; i < count; ++i)
            if (value >> i & 1U)
                words[(at + i) / 32] |= 1U << ((at + i) % 32);
    }
    template <class T>
    void operator()(T& member, unsigned count) {
        if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
            put(static_cast<std::uint64_t>(member), count);
        } else {
            for (std::size_t i = member.size(); i-- > 0;)
                put(member[i], 32);
        }
    }
};

template <class Port>
struct Unpacker {
    const Port& port;
    unsigned at;
    std::uint64_t get(unsigned count) {
        at -= count;
        std::uint64_t value = 0;
        for (unsigned done = 0; done < count; done += 32) {
            const unsigned now = count - done < 32 ? count - done : 32;
            value |= static_cast<std::uint64_t>(get_bits(port, at + done, now)) << done;
        }
        return value;
    }
    template <class T>
    void operator()(T& member, unsigned count) {
        if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
            member = static_cast<T>(get(count));
        } else {
            for (std::size_t i = member.size(); i-- > 0;)
                member[i] = static_cast<std::uint32_t>(get(32));
        }
    }
};

template <class S>
unsigned width_of(S& s) {
    Counter counter;
    s.fields(counter);
    return counter.bits;
}

/// Packs a structure into a port of up to 2,560 bits.
template <class S, class Port>
void drive(Port& port, S s) {
    std::array<std::uint32_t, 80> words{};
    Packer<80> packer{words, width_of(s)};
    s.fields(packer);
    if constexpr (std::is_integral_v<Port>)
        port = static_cast<Port>(words[0] | static_cast<std::uint64_t>(words[1]) << 32);
    else
        for (std::size_t i = 0; i < sizeof(port) / sizeof(std::uint32_t); ++i)
            port[i] = words[i];
}

/// Unpacks a port into a structure.
template <class S, class Port>
S sample(const Port& port) {
    S s{};
    Unpacker<Port> unpacker{port, width_of(s)};
    s.fields(unpacker);
    return s;
}

}  // namespace rtl
