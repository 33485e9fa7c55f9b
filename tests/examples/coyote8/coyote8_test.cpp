// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "coyote8/options.h"
#include "coyote8/pattern.h"
#include "coyote8/session.h"

namespace coyote8 {
namespace {

template <typename... Words>
Options parse(Words... words) {
    const std::vector<std::string> arguments{words...};
    return parse_options(arguments);
}

TEST(Coyote8, DefaultsAreThoseOfTheExample) {
    const Options options = parse();
    EXPECT_FALSE(options.is_client());
    EXPECT_EQ(options.operation, Operation::kRead);
    EXPECT_EQ(settings(options), "-o 0 -x 64 -X 1048576 -r 10");
    EXPECT_EQ(options.tcp_port, 18488);
}

TEST(Coyote8, TakesTheOptionsOfTheExample) {
    const Options options =
        parse("-i", "192.0.2.1", "-o", "1", "-x", "128", "-X", "4096", "-r", "3");
    EXPECT_TRUE(options.is_client());
    EXPECT_EQ(options.server, "192.0.2.1");
    EXPECT_EQ(settings(options), "-o 1 -x 128 -X 4096 -r 3");
    EXPECT_EQ(settings(parse("--operation", "1", "--min_size", "128", "--max_size", "4096",
                             "--runs", "3")),
              settings(options));
}

TEST(Coyote8, RefusesWhatMakesNoSense) {
    EXPECT_THROW(parse("-o", "2"), std::invalid_argument);
    EXPECT_THROW(parse("-x", "0"), std::invalid_argument);
    EXPECT_THROW(parse("-x", "128", "-X", "64"), std::invalid_argument);
    EXPECT_THROW(parse("-r", "0"), std::invalid_argument);
    EXPECT_THROW(parse("-X", "4G"), std::invalid_argument);
    EXPECT_THROW(parse("host"), std::invalid_argument);
    EXPECT_THROW(parse("-i", ""), std::invalid_argument);  // no server that waits for ever
    EXPECT_THROW(parse("--help"), HelpWanted);
}

TEST(Coyote8, TheLineOfASizeIsTheExamples) {
    EXPECT_EQ(size_line(64, 12.345678, 7.5),
              "Size:       64; Average throughput:  12.3457 MB/s; Average latency:      7.5 us");
    EXPECT_EQ(size_line(1048576, 11000.5, 95.25),
              "Size:  1048576; Average throughput:  11000.5 MB/s; Average latency:    95.25 us");
}

TEST(Coyote8, AnyWrongByteIsFound) {
    for (const std::size_t size : {1U, 3U, 4U, 7U, 64U, 1000U}) {
        std::vector<std::byte> data(size);
        fill(data, 0xFFFFFFF0U);
        EXPECT_FALSE(first_difference(data, 0xFFFFFFF0U));
        for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
            data[at] ^= std::byte{0x10};
            EXPECT_EQ(first_difference(data, 0xFFFFFFF0U), at);
            data[at] ^= std::byte{0x10};
        }
        EXPECT_TRUE(first_difference(data, 0xFFFFFFF1U)) << "the data of another run";
    }
}

TEST(Coyote8, WordsCountUp) {
    std::vector<std::byte> data(12);
    fill(data, 5);
    EXPECT_EQ(data[0], std::byte{5});
    EXPECT_EQ(data[4], std::byte{6});
    EXPECT_EQ(data[8], std::byte{7});
}

}  // namespace
}  // namespace coyote8
