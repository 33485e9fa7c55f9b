// SPDX-License-Identifier: BSD-2-Clause
//
// dlrm-storage: streams click records to a trainer.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "dlrm/storage.h"
#include "exit.h"
#include "qpx/error.h"

namespace {

using rdma_bench::Exit;

dlrm::StorageOptions parse(int argc, char** argv, CLI::App& app) {
    dlrm::StorageOptions options;
    app.add_option("FILE", options.file, "records, as dingo-criteo makes them")
        ->type_name("FILE")
        ->required();
    app.add_option("TRAINER", options.trainer, "host name or address")->required();
    app.add_option("-p,--port", options.port, "TCP port of the trainer")->capture_default_str();
    app.add_option("-b,--batch", options.sizes, "records in a batch; several sizes take turns")
        ->type_name("N,...")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("-n,--batches", options.batches,
                   "batches in all; the file is read again from its beginning as often as needed")
        ->type_name("N")
        ->required();
    app.add_option("-m,--modulus", options.modulus,
                   "preprocess on this side's card, with this modulus of the categories")
        ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 31))  // results are int32
        ->type_name("N");
    app.add_option("-d,--ib-dev", options.device, "RDMA device (default: the first)");
    app.add_option("--mem", options.memory, "host, huge, hip[:n] or cuda[:n]")
        ->capture_default_str();
    app.add_option("--security", options.security, "none, psk:FILE or tls:CERT,KEY,CA[,ALLOWED...]")
        ->capture_default_str();
    std::int64_t seconds = options.retry.count();
    app.add_option("--retry", seconds, "seconds to wait for a trainer that is not there")
        ->capture_default_str();
    app.add_option("--die-at", options.die_at, "for tests: be killed in the middle of this batch")
        ->group("");
    app.parse(argc, argv);
    options.retry = std::chrono::seconds(seconds);
    return options;
}

int say(const char* what, Exit status) {
    std::fprintf(stderr, "dlrm-storage: %s\n", what);
    return static_cast<int>(status);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Streams click records into the buffers of a trainer.", "dlrm-storage");
    try {
        dlrm::Storage(parse(argc, argv, app)).run();
        return 0;
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : static_cast<int>(Exit::kUsage);
    } catch (const rdma_bench::RunError& error) {
        return say(error.what(), error.status());
    } catch (const qpx::Error& error) {
        return say(error.what(), Exit::kPeer);
    } catch (const std::invalid_argument& error) {
        return say(error.what(), Exit::kUsage);
    } catch (const std::exception& error) {
        return say(error.what(), Exit::kDevice);
    }
}
