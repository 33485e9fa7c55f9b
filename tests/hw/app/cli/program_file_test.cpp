// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/program_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "app/cli/error.h"

namespace dingo::cli {
namespace {

class ToolProgram : public testing::Test {
  protected:
    ToolProgram() {
        char name[] = "/tmp/dingo-program-XXXXXX";
        dir_ = ::mkdtemp(name);
    }
    ~ToolProgram() override { std::filesystem::remove_all(dir_); }

    Path write(const std::string& name, const std::string& bytes, mode_t mode = 0755) {
        const Path file = dir_ / name;
        std::ofstream(file, std::ios::binary) << bytes;
        ::chmod(file.c_str(), mode);
        return file;
    }
    /// Returns a 64-bit program of this machine with dynamic linker `loader`; "" for none.
    static std::string elf(const std::string& loader) {
        Elf64_Ehdr self{};
        std::ifstream("/proc/self/exe", std::ios::binary)
            .read(reinterpret_cast<char*>(&self), sizeof self);
        self.e_phoff = sizeof self;
        self.e_phnum = 1;
        self.e_phentsize = sizeof(Elf64_Phdr);
        Elf64_Phdr part{};
        part.p_type = loader.empty() ? PT_LOAD : PT_INTERP;
        part.p_offset = sizeof self + sizeof part;
        part.p_filesz = loader.size() + 1;
        std::string out(reinterpret_cast<const char*>(&self), sizeof self);
        out.append(reinterpret_cast<const char*>(&part), sizeof part);
        return out + loader + '\0';
    }
    Path dir_;
};

TEST_F(ToolProgram, AnOrdinaryProgramMayRun) {
    EXPECT_FALSE(obstacle_of("/proc/self/exe"));
    EXPECT_FALSE(obstacle_of(write("p", elf("/lib64/ld-linux-x86-64.so.2"))));
    EXPECT_FALSE(obstacle_of(dir_ / "missing"));
    EXPECT_FALSE(obstacle_of(write("text", "just words")));
}

TEST_F(ToolProgram, ASanitizersRunTimeInItIsWarnedOf) {
    const auto obstacle = obstacle_of(write(
        "sanitized", elf("/lib64/ld-linux-x86-64.so.2") + std::string("__interceptor_") + "mmap"));
    ASSERT_TRUE(obstacle);
    EXPECT_FALSE(obstacle->certain);
    EXPECT_NE(obstacle->text.find("-shared-libsan"), std::string::npos);
}

TEST_F(ToolProgram, AStaticOneDoesNotSeeTheCardItself) {
    const auto obstacle = obstacle_of(write("static", elf("")));
    ASSERT_TRUE(obstacle);
    EXPECT_FALSE(obstacle->certain);
    EXPECT_NE(obstacle->text.find("linked statically"), std::string::npos);
    EXPECT_NO_THROW(check_program({dir_ / "static"}, false));
}

TEST_F(ToolProgram, AStaticOneThatNamesTheDevicesIsRefused) {
    // the text may span the blocks that are read
    for (const std::size_t before : {0UL, 65530UL, 200000UL}) {
        const auto obstacle = obstacle_of(write(
            "static", elf("") + std::string(before, 'x') + "/dev/infiniband/uverbs0" + "more"));
        ASSERT_TRUE(obstacle);
        EXPECT_TRUE(obstacle->certain) << before;
        EXPECT_NE(obstacle->text.find("link it dynamically"), std::string::npos);
    }
}

TEST_F(ToolProgram, WhoGivesItsProgramANewEnvironment) {
    const auto refused = [](const std::vector<std::string>& command) {
        try {
            check_program(command, false);
        } catch (const Error& e) {
            EXPECT_EQ(e.status(), kCannotExecute);
            return std::string(e.what());
        }
        return std::string();
    };
    for (const char* name : {"sudo", "su", "runuser"})
        write(name, elf("/lib64/ld-linux-x86-64.so.2"));
    EXPECT_NE(refused({dir_ / "sudo", "true"}).find("sudo dingo run -- COMMAND"),
              std::string::npos);
    EXPECT_NE(refused({dir_ / "su", "-", "me"}).find("su USER -c 'dingo run -- COMMAND'"),
              std::string::npos);
    EXPECT_NE(refused({dir_ / "runuser", "--login", "me"}), "");
    EXPECT_EQ(refused({dir_ / "su", "me", "-c", "-"}), "");
    EXPECT_EQ(refused({dir_ / "runuser", "-u", "me", "--", "ls", "-l"}), "");
}

TEST_F(ToolProgram, AnotherCLibrary) {
    const auto obstacle = obstacle_of(write("musl", elf("/lib/ld-musl-x86_64.so.1")));
    ASSERT_TRUE(obstacle);
    EXPECT_TRUE(obstacle->certain);
    EXPECT_THROW(check_program({dir_ / "musl"}, false), Error);
    EXPECT_NO_THROW(check_program({dir_ / "musl"}, true));
}

TEST_F(ToolProgram, AnotherWordSize) {
    std::string bytes = elf("/lib/ld-linux.so.2");
    bytes[EI_CLASS] = ELFCLASS32;
    const auto obstacle = obstacle_of(write("small", bytes));
    ASSERT_TRUE(obstacle);
    EXPECT_TRUE(obstacle->certain);
    EXPECT_NE(obstacle->text.find("32-bit"), std::string::npos);
}

TEST_F(ToolProgram, ThroughInterpretersOfScripts) {
    const Path musl = write("musl", elf("/lib/ld-musl-x86_64.so.1"));
    const Path inner = write("inner", "#!" + musl.string() + " -x\n");
    EXPECT_TRUE(obstacle_of(write("outer", "#! " + inner.string() + "\n")));
    EXPECT_FALSE(obstacle_of(write("shell", "#!/bin/sh\nexit\n")));
    EXPECT_TRUE(obstacle_of(write("env", "#!/usr/bin/env -S A=1 " + musl.string() + "\n")));
}

TEST_F(ToolProgram, ScriptsInACircleEnd) {
    const Path file = dir_ / "circle";
    write("circle", "#!" + file.string() + "\n");
    EXPECT_FALSE(obstacle_of(file));
}

TEST_F(ToolProgram, Setuid) {
    if (::getuid() != 0)
        GTEST_SKIP() << "needs root to give a file away";
    const Path file = write("setuid", elf("/lib64/ld-linux-x86-64.so.2"));
    ASSERT_EQ(::chown(file.c_str(), 4711, 0), 0);
    ::chmod(file.c_str(), 04755);
    const auto obstacle = obstacle_of(file);
    ASSERT_TRUE(obstacle);
    EXPECT_TRUE(obstacle->certain);
    EXPECT_NE(obstacle->text.find("is setuid (user 4711)"), std::string::npos) << obstacle->text;
    ASSERT_EQ(::chown(file.c_str(), 0, 0), 0);
    ::chmod(file.c_str(), 04755);
    EXPECT_FALSE(obstacle_of(file)) << "root's own bit gives root nothing";
}

TEST_F(ToolProgram, ATruncatedFileIsNoReason) {
    const std::string bytes = elf("/lib64/ld-linux-x86-64.so.2");
    for (const std::size_t length : {0UL, 3UL, 20UL, 63UL, 70UL})
        EXPECT_FALSE(obstacle_of(write("cut", bytes.substr(0, length))) &&
                     obstacle_of(dir_ / "cut")->certain);
}

}  // namespace
}  // namespace dingo::cli
