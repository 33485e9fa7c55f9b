// SPDX-License-Identifier: BSD-2-Clause
// Tests a service that keeps running while its certificate, key and CA are replaced.
#include <mutex>

#include "certificates.h"
#include "running_server.h"

namespace qpx::service {
namespace {

using namespace std::chrono_literals;

class Renewal : public ::testing::Test {
  protected:
    Renewal() {
        ServerOptions options;
        options.security = files.security();
        options.log = [this](LogLevel level, const std::string& text) {
            const std::scoped_lock lock(mutex_);
            if (level == LogLevel::Warning) {
                log_ += text + "\n";
            }
        };
        server.emplace(std::move(options));
    }

    /// Waits until the server has checked its files again, then joins as a member that accepts only
    /// a server of this name.
    std::unique_ptr<Group> join(const test::Authority& ca, const std::string& name) const {
        std::this_thread::sleep_for(300ms);
        const auto own = ca.issue("member", "");
        GroupOptions options;
        options.timeout = 20s;
        options.security.mode = Security::Mode::Certificates;
        options.security.certificate = own.certificate;
        options.security.key = own.key;
        options.security.ca = ca.ca();
        options.security.allowed_peers = {name};
        return Group::join(server->url(), options);
    }
    bool may_join(const test::Authority& ca, const std::string& name) const {
        try {
            join(ca, name)->put("k", "v");
            return true;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::Auth) << error.what();
            return false;
        }
    }
    std::string told() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(log_, {});
    }

    const test::Authority old_ca{"old CA"}, new_ca{"new CA"};
    const test::RenewedFiles files{old_ca, old_ca.issue("first", "")};
    std::optional<RunningServer> server;

  private:
    std::mutex mutex_;
    std::string log_;
};

TEST_F(Renewal, NewFilesAreForNewMembersAndOldMembersStay) {
    const auto member = join(old_ca, "first");
    EXPECT_FALSE(may_join(old_ca, "second"));
    files.renew(old_ca, old_ca.issue("second", ""));
    EXPECT_TRUE(may_join(old_ca, "second"));
    EXPECT_FALSE(may_join(old_ca, "first"));
    files.renew(new_ca, new_ca.issue("third", ""));
    EXPECT_TRUE(may_join(new_ca, "third"));
    EXPECT_FALSE(may_join(old_ca, "third"));
    EXPECT_EQ(told(), "");
    member->put("k", "still here");
    EXPECT_EQ(text_of(member->get("k")), "still here");
}

TEST_F(Renewal, WhatCannotBeUsedIsInTheLogAndTheFormerFilesStay) {
    files.spoil(files.security().certificate);
    EXPECT_TRUE(may_join(old_ca, "first"));
    const std::string why = told();
    EXPECT_NE(why.find("the changed security files are not used: certificate " +
                       files.security().certificate),
              std::string::npos)
        << why;
    EXPECT_TRUE(may_join(old_ca, "first"));
    EXPECT_EQ(told(), "") << "said once";
    files.renew(old_ca, old_ca.issue("second", ""));
    EXPECT_TRUE(may_join(old_ca, "second"));
    EXPECT_EQ(told(), "");
}

}  // namespace
}  // namespace qpx::service
