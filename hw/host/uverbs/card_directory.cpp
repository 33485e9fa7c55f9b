// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/card_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/json_text.h"
#include "base/regular_file.h"

namespace dingo::uverbs {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMaxNumber = 63;  // minor numbers 192 to 255

/// Maximum wait for the lock on numbers while another card starts. This process may have other
/// cards to serve.
constexpr std::chrono::milliseconds kNumbersTime{2000};

/// Returns an empty descriptor if another process has held the lock for `limit`.
UniqueFd take_lock(const fs::path& path, std::chrono::milliseconds limit) {
    UniqueFd fd = lock_regular(path, limit);
    if (!fd && errno != EWOULDBLOCK) {
        throw std::runtime_error(
            fmt::format("cannot lock '{}': {}", path.string(), std::strerror(errno)));
    }
    return fd;
}

bool is_running(const fs::path& dir) {
    const UniqueFd fd = open_regular(dir / "lock", O_RDWR | O_NOFOLLOW);
    return fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::set<unsigned> numbers_in_use(const fs::path& parent, const fs::path& mine) {
    std::set<unsigned> used;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(parent, error)) {
        if (entry.path() == mine || !is_running(entry.path())) {
            continue;
        }
        const auto info = json_value(text_of(entry.path() / "card.json"));
        if (info.is_object() && info.contains("number") && info["number"].is_number_unsigned()) {
            used.insert(info["number"].get<unsigned>());
        }
    }
    return used;
}

}  // namespace

CardDirectory::CardDirectory(const fs::path& dir, bool share)
    : dir_(fs::absolute(dir).lexically_normal()) {
    if (dir_.filename().empty()) {
        dir_ = dir_.parent_path();  // the path ends with a slash
    }
    if (share) {
        ::umask(022);  // files created from here on are readable by others
    }
    std::error_code error;
    fs::create_directories(dir_.parent_path(), error);
    if (::mkdir(dir_.c_str(), share ? 0755 : 0700) != 0 && errno != EEXIST) {
        throw std::runtime_error(
            fmt::format("cannot make directory '{}': {}", dir_.string(), std::strerror(errno)));
    }
    lock_ = take_lock(dir_ / "lock", {});
    if (!lock_) {
        throw std::runtime_error(fmt::format(
            "'{}' belongs to a running card: stop it, or choose another directory", dir_.string()));
    }
    const fs::path numbers = dir_.parent_path() / ".numbers";
    numbers_lock_ = take_lock(numbers, kNumbersTime);
    if (!numbers_lock_) {
        throw std::runtime_error(
            fmt::format("another card that starts in '{}' has held the lock '{}' for {} s; to find "
                        "it: fuser -v {}",
                        dir_.parent_path().string(), numbers.string(), kNumbersTime.count() / 1000,
                        numbers.string()));
    }
    const auto used = numbers_in_use(dir_.parent_path(), dir_);
    while (used.contains(number_)) {
        ++number_;
    }
    if (number_ > kMaxNumber) {
        throw std::runtime_error(fmt::format("{} cards run in '{}' already: stop one",
                                             kMaxNumber + 1, dir_.parent_path().string()));
    }
}

CardDirectory::~CardDirectory() {
    ::unlink((dir_ / "card.json").c_str());
    ::unlink((dir_ / "lock").c_str());
}

void CardDirectory::publish(const nlohmann::json& info) {
    const fs::path path = dir_ / "card.json";
    const fs::path draft = dir_ / "card.json.new";
    std::ofstream file(draft, std::ios::trunc);
    file << json_text(info, 2) << '\n';
    file.close();
    if (!file || ::rename(draft.c_str(), path.c_str()) != 0) {
        throw std::runtime_error(
            fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno)));
    }
    numbers_lock_.reset();
}

}  // namespace dingo::uverbs
