// SPDX-License-Identifier: BSD-2-Clause
//
// main() of a fuzz target that is built without libFuzzer: each file named on the command line is
// one input.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        std::ifstream file(argv[i], std::ios::binary);
        if (!file.good()) {
            std::fprintf(stderr, "%s cannot be read\n", argv[i]);
            return 1;
        }
        const std::string content((std::istreambuf_iterator<char>(file)), {});
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()),
                               content.size());
    }
    std::printf("%d inputs\n", argc - 1);
    return argc > 1 ? 0 : 1;
}
