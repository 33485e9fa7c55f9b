// SPDX-License-Identifier: BSD-2-Clause
//
// Reads a file on an NVMe disk into card memory, and writes card memory to a file: the disk
// transfers the data directly to and from the card, not through host memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "card_memory.h"
#include "cli/program.h"

namespace {

using namespace p2p;

struct Options {
    std::string device;
    std::string file;
    bool write = false;
    std::uint64_t seed = 1;
    std::size_t size = 0;
};

Options parse(int argc, char** argv) {
    Options o;
    CLI::App app{
        "Reads a file into the memory of a Dingo card, or writes card memory into a file, without "
        "host memory.",
        "p2p_file"};
    app.add_option("FILE", o.file, "a file or, with --write, perhaps a disk");
    app.add_option("-d,--device", o.device, "the card; default: the first one")->type_name("NAME");
    app.add_flag("-w,--write", o.write, "write: fill card memory with a pattern, and FILE with it");
    app.add_option("-n,--seed", o.seed, "another pattern")->capture_default_str();
    app.add_option("-s,--size", o.size,
                   "how much; a multiple of 4096; default: the file, or 1048576 with --write")
        ->type_name("BYTES")
        ->check(whole_pages());
    app.footer(
        "Prints what was moved and its checksum. FILE is opened with O_DIRECT, so that the disk "
        "moves the\n"
        "data itself. Exit status: 0 done, 1 failed, 2 wrong usage.");
    cli::parse(app, argc, argv);
    if (o.file.empty())
        throw UsageError("one FILE is needed; see p2p_file --help");
    return o;
}

struct File {
    explicit File(const Options& o)
        : fd(::open(o.file.c_str(),
                    O_DIRECT | O_CLOEXEC | (o.write ? O_WRONLY | O_CREAT : O_RDONLY), 0644)) {
        if (fd < 0)
            fail(o.file, errno);
    }
    ~File() { ::close(fd); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int fd;
};

[[noreturn]] void explain(const std::string& file, int error) {
    // The kernel finds no pages there that can be pinned for the disk's DMA.
    if (error == EFAULT)
        throw std::runtime_error(
            file + ": the memory of this card cannot be pinned: 'dingo p2p query' says why");
    if (error == EREMOTEIO)
        throw std::runtime_error(file +
                                 ": the disk cannot reach the card: both should be below one PCIe "
                                 "switch (docs/p2p.md)");
    fail(file, error);
}

void move(const Options& o, const File& file, std::byte* memory, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
        const auto at = static_cast<off_t>(done);
        const ssize_t n = o.write ? ::pwrite(file.fd, memory + done, bytes - done, at)
                                  : ::pread(file.fd, memory + done, bytes - done, at);
        if (n < 0)
            explain(o.file, errno);
        if (n == 0)
            throw std::runtime_error(o.file + ": it is shorter than " + std::to_string(bytes));
        done += static_cast<std::size_t>(n);
    }
}

void body(int argc, char** argv) {
    const Options o = parse(argc, argv);
    const Context context = open_card(o.device, 0);
    const File file(o);
    struct stat st {};
    check(::fstat(file.fd, &st) == 0 ? 0 : errno, o.file);
    constexpr std::size_t kDefault = 1 << 20;
    std::size_t bytes = o.size;
    if (bytes == 0)
        bytes = o.write ? kDefault : static_cast<std::size_t>(st.st_size) / 4096 * 4096;
    if (bytes == 0)
        throw UsageError(o.file + " has less than 4096 bytes, or is a disk: give --size");
    const Memory memory = allocate(context.get(), bytes);
    auto* const address = static_cast<std::byte*>(dingodv_dm_address(memory.get()));
    std::vector<std::byte> data(bytes);
    if (o.write) {
        fill(data, o.seed);
        put(memory.get(), data);
    }
    const auto start = std::chrono::steady_clock::now();
    move(o, file, address, bytes);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    fetch(memory.get(), data);
    std::printf("%s %s card memory: %zu bytes, checksum %016" PRIx64 ", %.1f MB/s\n",
                o.file.c_str(), o.write ? "from" : "into", bytes, checksum(data),
                static_cast<double>(bytes) / took.count());
}

}  // namespace

int main(int argc, char** argv) {
    return p2p::run("p2p_file", body, argc, argv);
}
