// SPDX-License-Identifier: BSD-2-Clause
//
// dingo-criteo: converts Criteo's click data to and from the card's records.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "cli/completion.h"
#include "dlrm/criteo.h"
#include "dlrm/criteo_options.h"
#include "dlrm/generate.h"
#include "dlrm/reference.h"

namespace dlrm {
namespace {

enum Status { kGood = 0, kFailed = 1, kUsage = 2 };

/// Standard input, or a file. The constructor throws if it cannot be opened.
class Input {
  public:
    explicit Input(const std::string& name) : name_(name == "-" ? "standard input" : name) {
        if (name == "-")
            return;
        file_.open(name, std::ios::binary);
        if (!file_)
            throw std::runtime_error(fmt::format("{}: {}", name, std::strerror(errno)));
        stream_ = &file_;
    }
    std::istream& operator*() { return *stream_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    /// Called at the end: throws if that is a read error. `errno` is of the last read.
    void finish() const {
        if (stream_->bad())
            throw std::runtime_error(fmt::format("{}: {}", name_, std::strerror(errno)));
    }

  private:
    std::string name_;
    std::ifstream file_;
    std::istream* stream_ = &std::cin;
};

/// Standard output, or a file.
class Output {
  public:
    explicit Output(const std::string& name) : name_(name == "-" ? "standard output" : name) {
        if (name == "-")
            return;
        file_.open(name, std::ios::binary | std::ios::trunc);
        if (!file_)
            throw std::runtime_error(fmt::format("{}: {}", name, std::strerror(errno)));
        stream_ = &file_;
    }
    void write(const Record& record) {
        stream_->write(reinterpret_cast<const char*>(record.data()), sizeof record);
    }
    void write_line(const std::string& line) { *stream_ << line << '\n'; }
    /// Flushes and checks for errors, such as a full disk.
    void finish() {
        stream_->flush();
        if (!*stream_)
            throw std::runtime_error(fmt::format("{}: {}", name_, std::strerror(errno)));
    }

  private:
    std::string name_;
    std::ofstream file_;
    std::ostream* stream_ = &std::cout;
};

/// Calls use(record) for each record; throws if the last one is truncated.
template <typename Use>
std::uint64_t for_each_record(Input& input, Use use) {
    Record record;
    std::uint64_t records = 0;
    for (; (*input).read(reinterpret_cast<char*>(record.data()), sizeof record); ++records)
        use(record);
    input.finish();
    if (const auto rest = (*input).gcount(); rest != 0)
        throw std::runtime_error(fmt::format("{}: {} bytes after the last whole record of {}",
                                             input.name(), rest, kRecordBytes));
    return records;
}

int to_records(const CriteoOptions& options) {
    Input input(options.input);
    Output output(options.output);
    std::uint64_t number = 0;
    std::uint64_t bad = 0;
    Record record;
    for (std::string line; std::getline(*input, line);) {
        ++number;
        const std::string why = parse_line(line, record);
        if (why.empty())
            output.write(record);
        else if (++bad <= options.show_bad)
            fmt::print(stderr, "{}:{}: {}\n", input.name(), number, why);
    }
    input.finish();
    output.finish();
    fmt::print(stderr, "{} records, {} bad lines\n", number - bad, bad);
    return bad == 0 || options.skip_bad ? kGood : kFailed;
}

int run(const CriteoOptions& options, const CLI::App& app) {
    if (options.command == Command::kToRecords)
        return to_records(options);
    if (options.command == Command::kCompletion) {
        std::cout << cli::completion(app, options.shell);
        return kGood;
    }
    std::uint64_t records = options.records;
    if (options.command == Command::kGenerate) {
        Output output(options.output);
        Generator generator(options.seed);
        for (std::uint64_t i = 0; i < records; ++i) {
            const Record record = generator.next();
            options.format == "tsv" ? output.write_line(format_line(record)) : output.write(record);
        }
        output.finish();
    } else {
        Input input(options.input);
        Output output(options.output);
        records = for_each_record(input, [&](Record& record) {
            if (options.command == Command::kToTsv) {
                output.write_line(format_line(record));
                return;
            }
            preprocess(record, options.modulus);
            output.write(record);
        });
        output.finish();
    }
    fmt::print(stderr, "{} records\n", records);
    return kGood;
}

}  // namespace
}  // namespace dlrm

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    CLI::App app("Criteo's click data to and from the records of a Dingo card.", "dingo-criteo");
    dlrm::CriteoOptions options;
    dlrm::add_commands(app, options);
    try {
        app.parse(argc, argv);
        return dlrm::run(options, app);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? dlrm::kGood : dlrm::kUsage;
    } catch (const std::exception& error) {
        fmt::print(stderr, "dingo-criteo: {}\n", error.what());
        return dlrm::kFailed;
    }
}
