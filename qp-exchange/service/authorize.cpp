// SPDX-License-Identifier: BSD-2-Clause
#include "service/authorize.h"

#include <fnmatch.h>

#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

namespace qpx::service {

Authorize parse_rules(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> rules;
    std::istringstream lines{std::string(text)};
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        line = line.substr(0, line.find('#'));
        std::istringstream words(line);
        std::string identity, job, more;
        if (!(words >> identity)) {
            continue;
        }
        if (!(words >> job) || words >> more) {
            throw Error(ErrorCode::Argument, "line " + std::to_string(number) +
                                                 ": \"IDENTITY JOB\" is expected, not \"" + line +
                                                 "\"");
        }
        rules.emplace_back(identity, job);
    }
    return [rules](std::string_view identity, std::string_view job) {
        const std::string who(identity), what(job);
        for (const auto& [identities, jobs] : rules) {
            if (fnmatch(identities.c_str(), who.c_str(), 0) == 0 &&
                fnmatch(jobs.c_str(), what.c_str(), 0) == 0) {
                return true;
            }
        }
        return false;
    };
}

Authorize read_rules(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        throw Error(ErrorCode::Argument, "cannot read the rules in " + path);
    }
    try {
        return parse_rules(text.str());
    } catch (const Error& error) {
        throw Error(ErrorCode::Argument, path + ": " + error.what());
    }
}

}  // namespace qpx::service
