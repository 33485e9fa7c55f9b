// SPDX-License-Identifier: BSD-2-Clause
// A temporary directory, removed when the test ends.
#pragma once
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace qpx::test {

class Directory {
  public:
    Directory() {
        std::string name = (std::filesystem::temp_directory_path() / "qpx-test-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            throw std::runtime_error("mkdtemp");
        }
        path_ = name;
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string path(const std::string& name) const { return path_ + "/" + name; }
    /// With mode 0600 unless said otherwise.
    std::string write(const std::string& name, const std::string& content,
                      mode_t mode = 0600) const {
        std::ofstream(path(name)) << content;
        chmod(path(name).c_str(), mode);
        return path(name);
    }

  private:
    std::string path_;
};

}  // namespace qpx::test
