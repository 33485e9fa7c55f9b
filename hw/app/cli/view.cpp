// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/view.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>

#include "app/cli/error.h"
#include "base/run_dir.h"

namespace dingo::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kParts[] = {"sys/class/infiniband", "sys/class/infiniband_verbs",
                                  "sys/class/infiniband_mad", "dev/infiniband"};

constexpr const char* kRdmaCm = "rdma_cm";

/// Links all entries of a card's `part` to the same place below `view`.
void link_part(const CardEntry& card, const Path& view, const char* part) {
    fs::create_directories(view / part);
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(card.dir / part, missing)) {
        if (entry.path().filename() == kRdmaCm)
            continue;
        const Path link = view / part / entry.path().filename();
        std::error_code there;
        if (entry.is_regular_file() && !entry.is_symlink())
            fs::copy_file(entry.path(), link, fs::copy_options::overwrite_existing);  // abi_version
        else
            fs::create_symlink(entry.path(), link, there);
    }
}

/// One rdma_cm device serves all cards: the preload library finds their sockets as rdma_cm/0, 1,
/// ...
void link_rdma_cm(const std::vector<CardEntry>& cards, const Path& view) {
    const char* const misc = "sys/class/misc";
    unsigned number = 0;
    fs::create_directories(view / kRdmaCm);
    fs::create_directories(view / misc);
    for (const CardEntry& card : cards) {
        if (!fs::exists(card.dir / "rdma_cm.sock"))
            continue;  // a card without UD queue pairs
        fs::create_symlink(card.dir / "rdma_cm.sock", view / kRdmaCm / std::to_string(number));
        if (number++ == 0) {
            fs::create_symlink("../../rdma_cm/0", view / "dev/infiniband" / kRdmaCm);
            fs::create_symlink(card.dir / misc / kRdmaCm, view / misc / kRdmaCm);
        }
    }
}

/// Returns the content of a view: the target of each link, an empty path for directories and copied
/// files.
std::map<Path, Path> content(const Path& view) {
    std::map<Path, Path> out;
    std::error_code missing;
    for (const auto& entry : fs::recursive_directory_iterator(view, missing))
        out[entry.path().lexically_relative(view)] =
            entry.is_symlink() ? fs::read_symlink(entry.path()) : Path();
    return out;
}

/// Removes files left by a killed process: as the lock is held, nothing else is being created.
void remove_unfinished(const Path& views) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(views, missing))
        if (entry.path().filename().string().starts_with('.'))
            fs::remove_all(entry.path());
}

/// Replaces `view` by `fresh` atomically, if the file system can exchange them.
void replace(const Path& view, const Path& fresh) {
    if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, view.c_str(), RENAME_EXCHANGE) == 0) {
        fs::remove_all(fresh);
        return;
    }
    if (errno == EINVAL || errno == ENOSYS)  // the file system cannot exchange them
        fs::remove_all(view);
    fs::rename(fresh, view);
}

}  // namespace

Path make_view(const std::vector<CardEntry>& cards) {
    if (cards.size() == 1)
        return cards[0].dir;
    std::string name;
    for (const CardEntry& card : cards)
        name += (name.empty() ? "" : "+") + card.name;
    std::replace(name.begin(), name.end(), '/', '_');  // USER/CARD is a card of another user
    const Path views = run_dir() / "views";
    Path view = views / name;
    const Path fresh = views / fmt::format(".{}", ::getpid());
    try {
        remove_unfinished(views);
        for (const CardEntry& card : cards)
            for (const char* part : kParts)
                link_part(card, fresh, part);
        link_rdma_cm(cards, fresh);
        // A restarted card may have another number. An unchanged view stays, as other programs are
        // reading it.
        if (content(fresh) == content(view))
            fs::remove_all(fresh);
        else
            replace(view, fresh);
    } catch (const fs::filesystem_error& e) {
        throw Error(fmt::format("cannot make the view {}: {}", view.string(), e.what()));
    }
    return view;
}

}  // namespace dingo::cli
