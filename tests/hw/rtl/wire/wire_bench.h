// SPDX-License-Identifier: BSD-2-Clause
//
// Shared by the benches of hw/rtl/wire: packed structures, the address tables of a card, stalls.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "dingo/packet/build.h"
#include "wide_bits.h"

namespace dingo::rtl {

using Frame = std::vector<std::byte>;
using Random = std::mt19937;

inline constexpr unsigned kQpLog = 11;
inline constexpr unsigned kGids = 16;
inline constexpr unsigned kMacs = 16;
inline constexpr unsigned kGidBits = 194;
inline constexpr unsigned kBeatBytes = 64;

/// Reads or writes the fields of a packed structure, last member first.
class Fields {
  public:
    explicit Fields(std::uint32_t* words) : words_(words) {}
    Fields& put(unsigned width, std::uint64_t value) {
        put_bits(words_, at_, width, value);
        at_ += width;
        return *this;
    }
    Fields& bytes(std::span<const std::uint8_t> value) {
        put_bytes(words_, at_, value);
        at_ += 8 * static_cast<unsigned>(value.size());
        return *this;
    }
    std::uint64_t get(unsigned width) {
        at_ += width;
        return get_bits(words_, at_ - width, width);
    }
    void get(std::span<std::uint8_t> value) {
        get_bytes(words_, at_, value);
        at_ += 8 * static_cast<unsigned>(value.size());
    }
    [[nodiscard]] unsigned width() const { return at_; }

  private:
    std::uint32_t* words_;
    unsigned at_ = 0;
};

/// Writes beat `i` of a frame or payload as beat_t.
inline void put_beat(std::uint32_t* beat, std::span<const std::byte> bytes, std::size_t i, bool err,
                     Random& random) {
    const std::size_t n = std::min<std::size_t>(bytes.size() - i * kBeatBytes, kBeatBytes);
    for (unsigned w = 0; w < 16; ++w) {
        beat[w] = static_cast<std::uint32_t>(random());  // bytes after the end are undefined
    }
    std::memcpy(beat, bytes.data() + i * kBeatBytes, n);
    const bool last = (i + 1) * kBeatBytes >= bytes.size();
    beat[16] = static_cast<std::uint32_t>(n) | (last ? 1u << 7 : 0) | (last && err ? 1u << 8 : 0);
}

/// Folded one's complement sum of bytes [from, to); `from` is even.
inline std::uint32_t internet_sum(std::span<const std::byte> frame, std::size_t from,
                                  std::size_t to, std::uint32_t sum = 0) {
    for (std::size_t i = from; i < to; ++i) {
        sum += std::to_integer<std::uint32_t>(frame[i]) << (i % 2 == 0 ? 8 : 0);
    }
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}
inline std::uint32_t be16_at(std::span<const std::byte> frame, std::size_t at) {
    return std::to_integer<std::uint32_t>(frame[at]) << 8 |
           std::to_integer<std::uint32_t>(frame[at + 1]);
}
inline void put_be16(std::span<std::byte> frame, std::size_t at, std::uint32_t value) {
    frame[at] = static_cast<std::byte>(value >> 8);
    frame[at + 1] = static_cast<std::byte>(value);
}

/// eth_csum_t: the checksum that dingo_wire_tx fills into a frame.
struct EthCsum {
    bool on = false, nonzero = false;
    std::size_t from = 0, at = 0, length = 0;

    [[nodiscard]] std::uint64_t bits() const {
        return length | std::uint64_t{at} << 14 | std::uint64_t{from} << 28 |
               std::uint64_t{nonzero} << 42 | std::uint64_t{on} << 43;
    }
    static EthCsum of(std::uint64_t bits) {
        return {(bits >> 43 & 1) != 0, (bits >> 42 & 1) != 0, bits >> 28 & 0x3fff,
                bits >> 14 & 0x3fff, bits & 0x3fff};
    }
    void fill_in(std::span<std::byte> frame) const {
        if (on) {
            const std::uint32_t sum = ~internet_sum(frame, from, frame.size()) & 0xffff;
            put_be16(frame, at, sum == 0 && nonzero ? 0xffff : sum);
        }
    }
};

struct BeatView {
    explicit BeatView(const std::uint32_t* beat)
        : bytes(beat[16] & 0x7f), last((beat[16] >> 7 & 1) != 0), err((beat[16] >> 8 & 1) != 0) {}
    unsigned bytes;
    bool last;
    bool err;
};

inline std::size_t beats_of(std::size_t bytes) {
    return (bytes + kBeatBytes - 1) / kBeatBytes;
}

inline std::vector<std::byte> random_bytes(Random& random, std::size_t n) {
    std::vector<std::byte> bytes(n);
    for (std::byte& b : bytes) {
        b = static_cast<std::byte>(random());
    }
    return bytes;
}

/// GID and address tables as dingo_port gives them. Even GID entries are IPv4; every third has a
/// VLAN. The last GID entry and every fourth address are not valid.
class Addresses {
  public:
    struct Gid {
        bool valid = false;
        packet::Mac mac;
        std::uint16_t vlan = 0xffff;
        packet::Gid gid;
    };

    Addresses() {
        for (unsigned i = 0; i < kGids; ++i) {
            Gid& g = gids[i];
            g.valid = i + 1 != kGids;
            g.mac = packet::Mac::from_u64(0x0244'4900'0000 + (i / 4) * 0x11);
            g.vlan = i % 3 == 2 ? static_cast<std::uint16_t>(100 + i) : 0xffff;
            if (i % 2 == 0) {
                g.gid = packet::Gid::from_ipv4(0x0a4d'0001 + i);
            } else {
                for (unsigned k = 0; k < 16; ++k) {
                    g.gid.bytes[k] = static_cast<std::uint8_t>(0xfd + 17 * i + k);
                }
            }
        }
        for (unsigned i = 0; i < kMacs; ++i) {
            macs[i] = packet::Mac::from_u64(0x0255'0000'0000 + i * 0x0101'01);
            mac_valid[i] = i % 4 != 3;
        }
        macs[2] = packet::Mac::from_u64(0x0100'5e00'0001);  // a group address
    }

    /// Drives the ports gids_i, mac_valid_i and macs_i.
    template <typename Dut>
    void drive(Dut& dut) const {
        unsigned valid = 0;
        for (unsigned i = 0; i < kGids; ++i) {
            const Gid& g = gids[i];
            std::array<std::uint32_t, 8> words{};
            Fields(words.data())
                .bytes(g.gid.bytes)
                .put(16, g.vlan)
                .bytes(g.mac.bytes)
                .put(1, g.gid.is_ipv4_mapped())
                .put(1, g.valid);
            for (unsigned b = 0; b < kGidBits; b += 32) {
                const unsigned n = std::min(32u, kGidBits - b);
                put_bits(&dut.gids_i[0], i * kGidBits + b, n, get_bits(words.data(), b, n));
            }
        }
        for (unsigned i = 0; i < kMacs; ++i) {
            put_bytes(&dut.macs_i[0], i * 48, macs[i].bytes);
            valid |= mac_valid[i] ? 1u << i : 0;
        }
        dut.mac_valid_i = static_cast<std::uint16_t>(valid);
    }

    [[nodiscard]] bool in_table(const packet::Mac& mac) const {
        for (unsigned i = 0; i < kMacs; ++i) {
            if (mac_valid[i] && macs[i] == mac) {
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool ours(const packet::Mac& mac) const {
        for (const Gid& g : gids) {
            if (g.valid && g.mac == mac) {
                return true;
            }
        }
        return in_table(mac);
    }

    std::array<Gid, kGids> gids;
    std::array<packet::Mac, kMacs> macs;
    std::array<bool, kMacs> mac_valid{};
};

/// How often each side of a module is ready.
struct Stalls {
    unsigned in;   ///< percent of cycles in which input is there
    unsigned out;  ///< percent of cycles in which output is taken
};

inline auto every_stall() {
    return testing::Values(Stalls{100, 100}, Stalls{100, 30}, Stalls{30, 100}, Stalls{60, 60});
}

inline std::string name_of_stalls(const testing::TestParamInfo<Stalls>& info) {
    return "In" + std::to_string(info.param.in) + "Out" + std::to_string(info.param.out);
}

}  // namespace dingo::rtl
