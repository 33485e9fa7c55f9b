// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/cards.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "app/cli/error.h"
#include "base/json_text.h"
#include "base/regular_file.h"
#include "base/run_dir.h"
#include "base/unix_socket.h"

namespace dingo::cli {
namespace {

constexpr int kAnswerMs = 15'000;              // long enough for a card to start on a busy machine
constexpr std::chrono::seconds kLockTime{20};  // a card may take 15 s to start
constexpr std::size_t kMaxName = 32;

/// Returns the credentials of the other end of a connected UNIX socket; PID 0: unknown.
ucred peer_of(int fd) {
    ucred peer{};
    socklen_t len = sizeof peer;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0
               ? peer
               : ucred{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
}

bool is_reserved(const std::string& name) {
    return name == "views" || name == "nets";
}

bool name_fits(const std::string& name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto good = [&](char c) {
        return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    return !name.empty() && name.size() <= kMaxName && letter(name[0]) && !is_reserved(name) &&
           std::all_of(name.begin(), name.end(), good);
}

}  // namespace

int CardEntry::number() const {
    for (const char* key : {"number", "uverbs"})
        if (info.contains(key) && info[key].is_number_integer())
            return info[key].get<int>();
    return -1;
}

void check_name(const std::string& name) {
    if (!name_fits(name))
        throw Error(
            fmt::format("'{}' is not a valid card name: use a letter, then letters, digits, - or "
                        "_, at most {} characters; 'views' and 'nets' are reserved",
                        name, kMaxName),
            kUsage);
}

CardEntry look_at(const std::string& name) {
    check_name(name);
    CardEntry out{name, run_dir() / name, Json::object(), 0};
    const Json info = json_value(text_of(out.dir / "card.json"));
    if (info.is_object())
        out.info = info;
    if (const UniqueFd fd = connect_unix(out.dir / "control"))
        out.pid = peer_of(fd.get()).pid;
    return out;
}

std::vector<CardEntry> all_cards() {
    std::vector<CardEntry> out;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(run_dir(), error))
        if (const std::string name = entry.path().filename();
            name_fits(name) && entry.is_directory(error))
            out.push_back(look_at(name));
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return out;
}

CardEntry running_card(const std::string& name) {
    CardEntry out = look_at(name);
    if (!out.running())
        throw Error(fmt::format("no card '{}' runs in {}; start it: dingo card start {}", name,
                                run_dir().string(), name),
                    kNoSuchCard);
    return out;
}

CardEntry shared_card(const std::string& dir, bool trust_owner) {
    CardEntry out{dir, std::filesystem::absolute(dir).lexically_normal(), Json::object(), 0};
    const auto fail = [&](const char* why) {
        return Error(fmt::format("cannot use the card of another user at {}: {}; its owner must "
                                 "start it with: dingo card start NAME --share",
                                 dir, why),
                     kNoSuchCard);
    };
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string device = out.dir / "uverbs.sock";
    if (device.size() >= sizeof address.sun_path)
        throw fail("the path is too long for a socket");
    device.copy(address.sun_path, sizeof address.sun_path - 1);
    // Only the owner can use the control socket. The card is usable if its device can be opened.
    const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw fail(std::strerror(errno));
    const ucred owner = peer_of(fd.get());
    if (owner.uid != ::geteuid() && owner.uid != 0 && !trust_owner)
        throw Error(fmt::format("the card at {} belongs to user {}, who could harm a program that "
                                "uses it: if you trust that user, add --trust-owner",
                                dir, owner.uid),
                    kCannotExecute);
    out.pid = owner.pid;
    out.owner = owner.uid;
    return out;
}

Json ask(const CardEntry& card, const Json& request) {
    const auto fail = [&](const std::string& why) {
        return Error(
            fmt::format("card {} {}. Its log: {}", card.name, why, (card.dir / "log").string()));
    };
    const UniqueFd fd = connect_unix(card.dir / "control");
    const std::string line = json_text(request) + "\n";
    if (!fd || ::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0)
        throw fail("cannot be reached");
    std::string text;
    std::array<char, 65'536> buffer;
    while (text.find('\n') == std::string::npos) {
        pollfd p{fd.get(), POLLIN, 0};
        if (::poll(&p, 1, kAnswerMs) == 0)
            throw fail("does not answer");
        const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            throw fail("closed the connection");
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    Json reply = json_value(text);
    if (!reply.is_object())
        throw fail("sent an answer that is not a JSON object");
    if (!reply.value("ok", false)) {
        std::string why = reply.value("error", "it refused");
        why.erase(why.find_last_not_of(" \n") + 1);
        throw Error(why, reply.value("usage", false) ? kUsage : kFailed);
    }
    reply.erase("ok");
    return reply;
}

UniqueFd lock_run_dir() {
    const Path file = make_run_dir() / ".lock";
    UniqueFd fd = lock_regular(file, kLockTime);
    if (!fd && errno == EWOULDBLOCK)
        throw Error(
            fmt::format("another dingo process has held the lock {} for {} s to start or stop "
                        "cards; to find it: fuser -v {}",
                        file.string(), kLockTime.count(), file.string()));
    if (!fd)
        throw Error(fmt::format("cannot lock {}: {}", file.string(), std::strerror(errno)));
    return fd;
}

}  // namespace dingo::cli
