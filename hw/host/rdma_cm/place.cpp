// SPDX-License-Identifier: BSD-2-Clause
#include "host/rdma_cm/place.h"

#include <fmt/format.h>
#include <rdma/rdma_user_cm.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace dingo::rdma_cm {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
        throw std::runtime_error(fmt::format("cannot write '{}'", path.string()));
    }
}

}  // namespace

Place::Place(const fs::path& directory)
    : device_(directory / "dev" / "infiniband" / "rdma_cm"),
      class_(directory / "sys" / "class" / "misc" / "rdma_cm") {
    fs::create_directories(class_);
    fs::create_directories(device_.parent_path());
    write_file(class_ / "abi_version", fmt::format("{}\n", RDMA_USER_CM_ABI_VERSION));
    write_file(class_ / "dev", fmt::format("{}:{}\n", kMiscMajor, kMiscMinor));
    write_file(class_ / "uevent", fmt::format("MAJOR={}\nMINOR={}\nDEVNAME=infiniband/rdma_cm\n",
                                              kMiscMajor, kMiscMinor));
    std::error_code none;
    fs::remove(device_, none);
    fs::create_symlink("../../rdma_cm.sock", device_);
}

Place::~Place() {
    std::error_code ignored;
    fs::remove(device_, ignored);
    fs::remove_all(class_, ignored);
}

}  // namespace dingo::rdma_cm
