// SPDX-License-Identifier: BSD-2-Clause
//
// Shared by the benches of hw/rtl/ctrl: packed structures as ports have them, and random numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <type_traits>
#include <vector>

namespace dingo::rtl {

/// One field of a packed structure: value and width in bits (1..64).
struct Field {
    std::uint64_t value;
    unsigned width;
};

/// A packed vector of any width.
class Bits {
  public:
    Bits() = default;
    /// Fields in the order of their declaration: the first one is the most significant.
    Bits(std::initializer_list<Field> fields) {
        for (const Field* f = fields.end(); f != fields.begin();) {
            --f;
            add(f->value, f->width);
        }
    }
    /// Adds a field above the most significant bit.
    void add(std::uint64_t value, unsigned width) {
        for (unsigned i = 0; i < width; ++i, ++size_) {
            if (size_ % 32 == 0) {
                words_.push_back(0);
            }
            words_[size_ / 32] |= static_cast<std::uint32_t>(value >> i & 1) << size_ % 32;
        }
    }
    void add(const Bits& other) {
        for (unsigned i = 0; i < other.size_; ++i) {
            add(other.get(i, 1), 1);
        }
    }
    [[nodiscard]] std::uint64_t get(unsigned lsb, unsigned width) const {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < width; ++i) {
            value |= std::uint64_t{words_[(lsb + i) / 32] >> (lsb + i) % 32 & 1} << i;
        }
        return value;
    }
    [[nodiscard]] unsigned size() const { return size_; }
    [[nodiscard]] std::uint32_t word(unsigned i) const { return words_[i]; }
    [[nodiscard]] unsigned words() const { return static_cast<unsigned>(words_.size()); }
    bool operator==(const Bits&) const = default;

  private:
    std::vector<std::uint32_t> words_;
    unsigned size_ = 0;
};

/// Sets a port of the Verilated module.
template <typename Port>
void drive(Port& port, const Bits& bits) {
    if constexpr (std::is_integral_v<Port>) {
        port = static_cast<Port>(bits.get(0, bits.size()));
    } else {
        for (unsigned i = 0; i < bits.words(); ++i) {
            port[i] = bits.word(i);
        }
    }
}

/// `width` bits of a port from `lsb` on.
template <typename Port>
Bits sample(const Port& port, unsigned lsb, unsigned width) {
    Bits bits;
    for (unsigned i = lsb; i < lsb + width; ++i) {
        if constexpr (std::is_integral_v<Port>) {
            bits.add(static_cast<std::uint64_t>(port) >> i & 1, 1);
        } else {
            bits.add(port[i / 32] >> i % 32 & 1, 1);
        }
    }
    return bits;
}

/// Random numbers from a seed.
class Dice {
  public:
    explicit Dice(unsigned seed) : random_(seed) {}
    std::uint64_t any() { return random_(); }
    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
    bool percent(unsigned p) { return below(100) < p; }

  private:
    std::mt19937_64 random_;
};

}  // namespace dingo::rtl
