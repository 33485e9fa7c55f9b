// SPDX-License-Identifier: BSD-2-Clause
//
// The CRC is folded as in Gopal et al., "Fast CRC computation for generic polynomials using
// PCLMULQDQ" (Intel, 2009): a carry-less product moves 128 bits of remainder a constant distance
// towards the end of the data. Four registers of four such lanes each are folded 2048 bits at a
// time; the data that they load are stored in between.
#include "crc_copy.h"

#include <cstdlib>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dingo::packet {

#if defined(__x86_64__)
namespace {

#define DINGO_CRC_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,pclmul,vpclmulqdq")))

/// CRC-32 (IEEE), bits reflected, as all constants here.
constexpr std::uint32_t kCrc32Polynomial = 0xedb88320;

/// x^n modulo the polynomial, shifted left by one bit because the product of two reflected 64-bit
/// numbers is a reflected 127-bit number.
constexpr long long power(unsigned n) noexcept {
    std::uint32_t r = 1U << 31;
    while (n-- > 0)
        r = r >> 1 ^ ((r & 1) != 0 ? kCrc32Polynomial : 0);
    return 2 * static_cast<long long>(r);
}

/// Constants that move the two halves of a lane `bits` towards the end of the data. The first half
/// is 64 bits further away, and each product ends 32 bits before the lane's end.
struct Fold {
    explicit constexpr Fold(unsigned bits) : first(power(bits + 32)), second(power(bits - 32)) {}
    long long first, second;
};
constexpr Fold kFold2048(2048), kFold512(512), kFold384(384), kFold256(256), kFold128(128);

DINGO_CRC_TARGET inline __m512i lanes(const Fold& fold) {
    return _mm512_set4_epi64(fold.second, fold.first, fold.second, fold.first);
}

DINGO_CRC_TARGET inline __m512i fold_onto(__m512i remainder, __m512i by, __m512i data) {
    constexpr int kXorOfThree = 0x96;
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(remainder, by, 0x00),
                                     _mm512_clmulepi64_epi128(remainder, by, 0x11), data,
                                     kXorOfThree);
}

DINGO_CRC_TARGET inline __m128i fold_onto(__m128i remainder, const Fold& fold, __m128i data) {
    const __m128i by = _mm_set_epi64x(fold.second, fold.first);
    return _mm_xor_si128(data, _mm_xor_si128(_mm_clmulepi64_si128(remainder, by, 0x00),
                                             _mm_clmulepi64_si128(remainder, by, 0x11)));
}

/// Returns the CRC of the 128 bits of `lane`, with an initial register of zero.
DINGO_CRC_TARGET inline std::uint32_t reduce(__m128i lane) {
    // 64 bits, then 32, are folded onto what follows; the rest is divided (Barrett reduction).
    constexpr long long kQuotient = 0x1f7011641;  // x^64 / polynomial
    constexpr long long kDivisor = 2 * static_cast<long long>(kCrc32Polynomial) + 1;
    const __m128i low_word = _mm_set_epi32(0, 0, 0, -1);
    const __m128i folds = _mm_set_epi64x(power(64), power(96));
    __m128i r = _mm_xor_si128(_mm_clmulepi64_si128(lane, folds, 0x00), _mm_srli_si128(lane, 8));
    r = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(r, low_word), folds, 0x10),
                      _mm_srli_si128(r, 4));
    const __m128i divide = _mm_set_epi64x(kDivisor, kQuotient);
    __m128i q = _mm_clmulepi64_si128(_mm_and_si128(r, low_word), divide, 0x00);
    q = _mm_clmulepi64_si128(_mm_and_si128(q, low_word), divide, 0x10);
    return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(r, q), 1));
}

/// Copies 64 bytes and returns them.
DINGO_CRC_TARGET inline __m512i pass(std::byte* to, const std::byte* from) {
    const __m512i data = _mm512_loadu_si512(from);
    _mm512_storeu_si512(to, data);
    return data;
}

constexpr std::size_t kRegister = 64;

}  // namespace

bool can_crc_copy() noexcept {
    static const bool can =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vpclmulqdq") &&
        __builtin_cpu_supports("pclmul");
    return can;
}

DINGO_CRC_TARGET std::uint32_t crc_copy(std::uint32_t crc, std::byte* to, const std::byte* from,
                                        std::size_t n) noexcept {
    const std::byte* const end = from + n;
    __m512i a = pass(to, from);
    __m512i b = pass(to + kRegister, from + kRegister);
    __m512i c = pass(to + 2 * kRegister, from + 2 * kRegister);
    __m512i d = pass(to + 3 * kRegister, from + 3 * kRegister);
    a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(~crc))));
    const __m512i far = lanes(kFold2048);
    while ((from += kCrcCopyBytes) != end) {
        to += kCrcCopyBytes;
        a = fold_onto(a, far, pass(to, from));
        b = fold_onto(b, far, pass(to + kRegister, from + kRegister));
        c = fold_onto(c, far, pass(to + 2 * kRegister, from + 2 * kRegister));
        d = fold_onto(d, far, pass(to + 3 * kRegister, from + 3 * kRegister));
    }
    const __m512i near = lanes(kFold512);
    d = fold_onto(fold_onto(fold_onto(a, near, b), near, c), near, d);
    __m128i r = _mm512_extracti64x2_epi64(d, 3);
    r = fold_onto(_mm512_extracti64x2_epi64(d, 0), kFold384, r);
    r = fold_onto(_mm512_extracti64x2_epi64(d, 1), kFold256, r);
    r = fold_onto(_mm512_extracti64x2_epi64(d, 2), kFold128, r);
    crc = ~reduce(r);
    _mm256_zeroupper();  // otherwise later SSE instructions are slow on Intel
    return crc;
}

#undef DINGO_CRC_TARGET

#else

bool can_crc_copy() noexcept {
    return false;
}
std::uint32_t crc_copy(std::uint32_t /*crc*/, std::byte* /*to*/, const std::byte* /*from*/,
                       std::size_t /*n*/) noexcept {
    std::abort();  // callers check can_crc_copy()
}

#endif

}  // namespace dingo::packet
