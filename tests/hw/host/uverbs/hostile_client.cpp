// SPDX-License-Identifier: BSD-2-Clause
// A client that sends malformed messages: hostile_client DIR SEED COUNT. A separate process, as the
// card writes where it is told to. Exit status 0: the card answered until the end.
#include <signal.h>
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "client.h"

namespace dingo::uverbs::test {
namespace {

class Hostile {
  public:
    Hostile(std::string directory, std::uint64_t seed)
        : directory_(std::move(directory)), random_(seed), scratch_(1 << 16) {
        connect();
    }

    // Returns false if the card no longer answers.
    bool one() {
        switch (pick(16)) {
            case 0:
                noise();
                break;
            case 1:
                odd_header();
                break;
            case 2:
            case 3:
            case 4:
            case 5:
                plausible_write();
                break;
            default:
                plausible_ioctl();
        }
        return client_->connected() || connect();
    }

  private:
    std::uint64_t pick(std::uint64_t n) { return random_() % n; }
    bool chance(unsigned percent) { return pick(100) < percent; }

    bool connect() {
        client_ = std::make_unique<Client>(directory_);
        if (!client_->connected()) {
            return false;
        }
        if (!chance(5)) {
            std::uint32_t vectors = 0;
            Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
            io.out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, vectors);
            const std::uint64_t request = std::uint64_t{1 << 0 | 1 << 2} << 32;
            io.in(UVERBS_ATTR_UHW_IN, request);
            io.out(UVERBS_ATTR_UHW_OUT, scratch_);
            client_->ioctl(io);
        }
        return true;
    }

    std::uint64_t number() {
        switch (pick(8)) {
            case 0:
                return random_();
            case 1:
                return 0;
            case 2:
                return pick(3);
            case 3:
                return pick(64);
            case 4:
                return UINT64_MAX;
            case 5:
                return std::uint64_t{1} << pick(64);
            case 6:
                return std::uint64_t{1} << pick(20) | pick(3) << 32;
            default:
                return address();
        }
    }
    std::uint64_t address() {
        if (chance(5)) {
            return chance(50) ? pick(4096) : random_();
        }
        return reinterpret_cast<std::uintptr_t>(scratch_.data()) + pick(8192) * 8 % 32768;
    }
    std::uint16_t length() {
        constexpr std::array<std::uint16_t, 14> kLengths{0,  0,  0,  4,  4,   8,    8,
                                                         16, 20, 32, 56, 256, 4096, 65535};
        return chance(90) ? kLengths[pick(kLengths.size())] : static_cast<std::uint16_t>(random_());
    }

    void noise() {
        Bytes bytes(pick(300));
        for (auto& b : bytes) {
            b = static_cast<std::byte>(random_());
        }
        answer(client_->send_bytes(bytes, {}, chance(70)));
    }

    void odd_header() {
        Request r(static_cast<std::uint32_t>(pick(8)));
        r.header.flags = static_cast<std::uint32_t>(pick(16));
        r.header.arg = number();
        r.header.arg2 = number();
        r.payload.resize(pick(64));
        if (chance(30)) {
            r.segments.push_back({number() & ~std::uint64_t{4095}, number() & ~std::uint64_t{4095},
                                  number() & ~std::uint64_t{4095},
                                  static_cast<std::uint32_t>(pick(3)), 0});
        }
        if (chance(50)) {
            r.fds.assign(pick(4), 0);
        }
        Bytes bytes = r.bytes();
        if (chance(30)) {
            bytes[pick(bytes.size())] = static_cast<std::byte>(random_());
        }
        if (chance(10)) {
            bytes.resize(pick(bytes.size() + 1));
        }
        answer(client_->send_bytes(bytes, r.fds));
    }

    void plausible_write() {
        const bool extended = chance(25);
        Bytes body(8 + 4 * pick(40));
        for (std::size_t i = 0; i + 4 <= body.size(); i += 4) {
            const auto value = static_cast<std::uint32_t>(chance(60) ? pick(4) : number());
            std::memcpy(body.data() + i, &value, 4);
        }
        const std::uint64_t where = address();
        std::memcpy(body.data(), &where, 8);
        if (extended) {
            ib_uverbs_ex_cmd_hdr ex{};
            ex.response = where;
            ex.provider_in_words = static_cast<std::uint16_t>(pick(3));
            ex.provider_out_words = static_cast<std::uint16_t>(pick(20));
            body.resize(body.size() / 8 * 8);
            Bytes with;
            append(with, ex);
            with.insert(with.end(), body.begin(), body.end());
            body = with;
        }
        ib_uverbs_cmd_hdr hdr{};
        hdr.command =
            static_cast<std::uint32_t>(pick(60)) | (extended ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
        hdr.in_words = static_cast<std::uint16_t>((body.size() + 8) / 4);
        if (extended) {
            ib_uverbs_ex_cmd_hdr ex{};
            std::memcpy(&ex, body.data(), sizeof ex);
            hdr.in_words =
                static_cast<std::uint16_t>((body.size() - sizeof ex) / 8 - ex.provider_in_words);
        }
        hdr.out_words = static_cast<std::uint16_t>(pick(64));
        if (chance(10)) {
            hdr.in_words = static_cast<std::uint16_t>(random_());
        }
        Bytes all;
        append(all, hdr);
        all.insert(all.end(), body.begin(), body.end());
        finish(client_->write(all));
    }

    void plausible_ioctl() {
        Ioctl io(static_cast<std::uint16_t>(pick(chance(90) ? 9 : 20)),
                 static_cast<std::uint16_t>(pick(7)));
        const std::uint64_t attributes = pick(16);
        for (std::uint64_t i = 0; i < attributes; ++i) {
            ib_uverbs_attr a{};
            a.attr_id = static_cast<std::uint16_t>(chance(90) ? i : random_());
            if (chance(15)) {
                a.attr_id = static_cast<std::uint16_t>(UVERBS_ATTR_UHW_IN + pick(2));
            }
            a.len = length();
            a.flags = chance(95) ? static_cast<std::uint16_t>(pick(2)) : 0xFFFF;
            a.attr_data.reserved = chance(97) ? 0 : static_cast<std::uint16_t>(random_());
            a.data = a.len > 8 ? address() : number();
            io.raw(a);
        }
        if (chance(3)) {
            io.header().driver_id = static_cast<std::uint32_t>(random_());
        }
        if (chance(3)) {
            io.header().reserved1 = random_();
        }
        finish(client_->ioctl(io));
    }

    void answer(const Answer& a) { finish(a.result()); }
    void finish(int result) {
        // Occasionally also without a reason, so that no table fills up.
        if (result == -EPIPE || chance(1)) {
            connect();
        }
        // Descriptors that answers stored stay open: this process is replaced when it has many.
    }

    std::string directory_;
    std::mt19937_64 random_;
    Bytes scratch_;
    std::unique_ptr<Client> client_;
};

}  // namespace
}  // namespace dingo::uverbs::test

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "hostile_client DIR SEED COUNT\n");
        return 2;
    }
    ::signal(SIGPIPE, SIG_IGN);
    dingo::uverbs::test::Hostile hostile(argv[1], std::strtoull(argv[2], nullptr, 0));
    for (long i = std::atol(argv[3]); i > 0; --i) {
        if (!hostile.one()) {
            std::fprintf(stderr, "the card does not answer\n");
            return 1;
        }
        if (i % 1024 == 0) {
            ::syscall(SYS_close_range, 64U, 1U << 20, 0U);  // descriptors from answers
        }
    }
    return 0;
}
