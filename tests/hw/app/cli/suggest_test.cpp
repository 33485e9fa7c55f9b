// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/suggest.h"

#include <gtest/gtest.h>

#include "app/cli/error.h"

namespace dingo::cli {
namespace {

class ToolSuggest : public testing::Test {
  protected:
    ToolSuggest() {
        auto* const card = app_.add_subcommand("card");
        for (const char* name : {"start", "stop", "list"})
            card->add_subcommand(name)->fallthrough();
        auto* const stats = app_.add_subcommand("stats");
        stats->add_flag("--watch");
        stats->add_option("NAME");
    }
    /// Returns the error text; "" if the words begin with a command.
    std::string told(const std::vector<std::string>& words) {
        try {
            check_command(app_, words);
        } catch (const Error& e) {
            EXPECT_EQ(e.status(), kUsage);
            return e.what();
        }
        return "";
    }
    CLI::App app_{"", "dingo"};
};

TEST_F(ToolSuggest, ACommandAtAnotherPlace) {
    EXPECT_EQ(told({"list"}), "there is no command 'dingo list'. Did you mean 'dingo card list'?");
}

TEST_F(ToolSuggest, AMistypedCommand) {
    EXPECT_EQ(told({"card", "strat", "a"}),
              "there is no command 'dingo card strat'. Did you mean 'dingo card start'?");
    EXPECT_EQ(told({"--json", "stast"}),
              "there is no command 'dingo stast'. Did you mean 'dingo stats'?");
}

TEST_F(ToolSuggest, NothingNear) {
    EXPECT_EQ(told({"frobnicate"}),
              "there is no command 'dingo frobnicate'. There are: card or stats");
    EXPECT_EQ(told({"card"}), "'dingo card' needs a command: start, stop or list");
}

TEST_F(ToolSuggest, RightWordsPass) {
    EXPECT_EQ(told({"card", "list", "--json"}), "");
    EXPECT_EQ(told({"stats", "strat"}), "");  // a name
    EXPECT_EQ(told({"card", "--help"}), "");
    EXPECT_EQ(told({}), "");
}

TEST_F(ToolSuggest, AMistypedOption) {
    std::vector<std::string> reversed{"--wacth", "stats"};
    EXPECT_THROW(app_.parse(reversed), CLI::ParseError);
    EXPECT_EQ(likely_option(app_, {"stats", "--wacth"}), "Did you mean --watch?");
    EXPECT_EQ(likely_option(app_, {"stats", "--entirely-different"}), "");
}

}  // namespace
}  // namespace dingo::cli
