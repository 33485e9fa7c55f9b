// SPDX-License-Identifier: BSD-2-Clause
#include "run/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cm/connector.h"
#include "options/agree.h"
#include "qpx/error.h"
#include "run/clock.h"
#include "run/entry_run.h"
#include "run/placement.h"
#include "run/repeats.h"
#include "run/verified.h"
#include "verbs/counters.h"

namespace rdma_bench {
namespace {

using nlohmann::json;
/// Version of the protocol between the two programs; a peer with another one is refused.
constexpr int kProtocol = 2;

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

void warn(const std::string& text) {
    std::fprintf(stderr, "rdma-bench: %s\n", text.c_str());
}

/// Latencies are unreliable while the processor changes its frequency.
void warn_about_frequency() {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    std::string governor;
    if (file >> governor && governor != "performance") {
        warn("warning: the CPU's frequency governor is '" + governor +
             "', not 'performance' (-F leaves this out)");
    }
}

/// Limits the sizes on UD to the MTU: a datagram is one packet.
void fit_datagrams(Options& options, unsigned mtu) {
    if (options.connection != Connection::kUd) {
        return;
    }
    const unsigned limit = options.mtu ? std::min(options.mtu, mtu) : mtu;
    if (options.all_sizes) {
        std::erase_if(options.sizes, [&](std::uint64_t size) { return size > limit; });
        return;
    }
    for (auto& size : options.sizes) {
        if (size > limit) {
            warn("a datagram has at most " + std::to_string(limit) + " bytes (the path MTU): -s " +
                 std::to_string(size) + " is reduced to that");
            size = limit;
        }
    }
}

std::string yes(bool value) {
    return value ? "yes" : "no";
}

class Session {
  public:
    Session(Options& options, Sink& sink, Result& result, OneOfMany* client)
        : options_(options),
          sink_(sink),
          result_(result),
          role_(role_of(options)),
          limits_(options) {
        if (client != nullptr) {
            link_ = std::make_unique<Link>(std::move(client->link));
            start_together_ = client->start_together;
        }
    }

    Exit run() {
        Device device(options_.device, options_.port);
        if (!options_.report.force) {
            warn_about_frequency();
        }
        fit_datagrams(options_, device.active_mtu());
        if (options_.mtu > device.active_mtu()) {
            throw RunError(Exit::kDevice, "-m " + std::to_string(options_.mtu) +
                                              ": the port's MTU is " +
                                              std::to_string(device.active_mtu()));
        }
        if (options_.rdma_cm) {
            cm_ = std::make_unique<CmConnector>();
        }
        counter_names_ = find_counters(device.name(), device.port(), options_.report.counters);
        result_.local = host_facts(device);
        check_pin(options_.pin);
        Traffic traffic(device, options_);
        note_placement(result_.local, traffic.buffer().host(), options_.pin);
        if (options_.report.cycles && !counter_used) {
            warn("-C: ticks are nanoseconds here: " + clock_text());
        }
        if (!link_) {
            link_ = std::make_unique<Link>(Link::open(options_));
        }
        greet();
        connect(traffic);
        sink_.start(result_);
        try {
            measure(traffic);
        } catch (const RunError&) {
            emit_unfinished();
            throw;
        }
        link_->send("bye", json::object());
        link_->expect("bye", false);
        limits_.check();
        return Exit::kGood;
    }

    /// Tells the peer the reason, unless the peer reported it.
    void give_up(const RunError& error) {
        if (exchanging_) {
            // The peer waits in exchange(), which only understands a refusal.
            link_->connection().refuse(error.what());
        } else if (link_ && error.status() != Exit::kPeer) {
            link_->give_up(error.what(), error.status() == Exit::kInterrupted);
        }
    }

  private:
    void greet() {
        json values = json::array();
        const auto mine = agreed_options(options_);
        for (const auto& value : mine) {
            values.push_back({value.option, value.value});
        }
        link_->send("hello", {{"protocol", kProtocol},
                              {"version", RDMA_BENCH_VERSION},
                              {"client", options_.client()},
                              {"clients", options_.clients},
                              {"options", values},
                              {"host", to_json(result_.local)}});
        const auto hello = link_->expect("hello");
        if (hello.at("protocol") != kProtocol) {
            throw RunError(Exit::kPeer,
                           "the peer is rdma-bench " + hello.value("version", std::string("?")) +
                               ", this is " RDMA_BENCH_VERSION ": use the same on both sides");
        }
        std::vector<OptionValue> theirs;
        for (const auto& value : hello.at("options")) {
            theirs.push_back({value.at(0).get<std::string>(), value.at(1).get<std::string>()});
        }
        const auto different = option_differences(mine, theirs);
        if (!different.empty()) {
            throw RunError(Exit::kUsage,
                           "the two sides were started with different options: " + different);
        }
        result_.peer = host_from(hello.at("host"));
        clients_ = std::max(options_.clients, hello.value("clients", 1U));
        auto& connection = link_->connection();
        result_.security = connection.security_text();
        if (!connection.peer_identity().empty()) {
            result_.security += ", peer " + connection.peer_identity();
        }
    }

    void connect(Traffic& traffic) {
        auto& connection = link_->connection();
        exchanging_ = true;
        const auto& locals = traffic.describe(connection.local_address());
        std::vector<qpx::Endpoint> mine;
        mine.reserve(locals.size());
        for (const auto& local : locals) {
            mine.push_back(local.endpoint);
        }
        std::vector<qpx::Endpoint> peers;
        try {
            connection.set_timeout(std::chrono::seconds(std::max(30U, options_.connect_timeout)));
            peers = connection.exchange(mine);
        } catch (const qpx::Error& error) {
            exchanging_ = false;
            throw RunError(Exit::kPeer, error.what());
        }
        exchanging_ = false;
        traffic.connect(peers, cm_ ? by_cm() : join_by_endpoints(options_));
        describe(traffic);
    }

    Traffic::Join by_cm() {
        return [this](std::span<ibv_qp* const> qps, std::span<qpx::Local> locals,
                      std::span<qpx::Endpoint> theirs) {
            cm_->connect(*link_, options_, path_options(options_), {qps, locals, theirs});
        };
    }

    void describe(const Traffic& traffic) {
        const auto facts = [](const qpx::Endpoint& e, unsigned outstanding) {
            QpFacts qp;
            qp.lid = e.lid;
            qp.qpn = e.qpn;
            qp.psn = e.psn;
            qp.outstanding = outstanding;
            qp.rkey = e.regions.empty() ? 0 : e.regions.front().rkey;
            qp.address = e.regions.empty() ? 0 : e.regions.front().address;
            qp.gid = e.gid;
            return qp;
        };
        for (const auto& local : traffic.locals()) {
            result_.local_qps.push_back(facts(local.endpoint, local.endpoint.max_rd_atomic));
        }
        for (const auto& peer : traffic.peers()) {
            result_.peer_qps.push_back(facts(peer, peer.max_rd_atomic));
        }
        const auto& local = traffic.locals().front();
        auto& device = result_.local.device;
        device.gid_index = local.gid.index;
        device.gid = qpx::gid_text(local.endpoint.gid);
        device.gid_type = qpx::to_string(local.gid.type);
        result_.peer.device.gid = qpx::gid_text(traffic.peers().front().gid);
        parameters(traffic, qpx::path_mtu(local.endpoint, traffic.peers().front()));
    }

    void parameters(const Traffic& traffic, unsigned mtu) {
        const auto add = [&](const char* name, const std::string& value) {
            result_.parameters.push_back({name, value});
        };
        const auto& o = options_;
        const auto largest = *std::max_element(o.sizes.begin(), o.sizes.end());
        add("connection", std::string(to_string(o.connection)));
        add("rdma_cm", yes(o.rdma_cm));
        if (clients_ > 1) {
            add("clients", std::to_string(clients_));
        }
        add("qps", std::to_string(*std::max_element(o.qps.begin(), o.qps.end())));
        add("threads", std::to_string(o.threads));
        add("tx_depth", std::to_string(send_depth(o, largest)));
        add("rx_depth", std::to_string(o.rx_depth));
        add("cq_moderation", std::to_string(completion_interval(o, o.sizes.front())));
        add("post_list", std::to_string(o.post_list));
        add("inline_size", std::to_string(traffic.inline_size()));
        add("mtu", std::to_string(mtu));
        add("iterations", o.duration ? "0" : std::to_string(o.iterations));
        add("duration_s", std::to_string(o.duration));
        add("margin_s", std::to_string(o.margin));
        add("bidirectional", yes(o.bidirectional));
        add("events", yes(o.events));
        add("srq", yes(o.srq));
        add("posting", traffic.extended() ? "ibv_wr" : "ibv_post_send");
        add("memory", traffic.buffer().description());
        add("relaxed_ordering", yes(o.relaxed_ordering));
        add("outstanding", std::to_string(traffic.locals().front().endpoint.max_rd_atomic));
        add("rate_per_s", std::to_string(o.rate));
        add("verify", yes(o.verify));
        add("repeat", std::to_string(o.repeat));
        add("traffic_class", std::to_string(o.traffic_class));
        add("sl", std::to_string(o.sl));
        add("qp_timeout", std::to_string(o.timeout));
        if (o.test.operation == Operation::kAtomic) {
            add("atomic", o.atomic == AtomicType::kFetchAndAdd ? "FETCH_AND_ADD" : "CMP_AND_SWAP");
        }
    }

    void measure(Traffic& traffic) {
        const std::size_t rows = options_.sizes.size() * options_.qps.size();
        std::size_t number = 0;
        kept_.resize(options_.repeat > 1 ? rows : 0);
        // Each round measures all rows, so that changes of the machine's state affect all of them.
        for (unsigned round = 0; round < options_.repeat; ++round) {
            for (const unsigned qps : options_.qps) {
                for (const auto size : options_.sizes) {
                    const EntryRun::Where where{size, qps, number++, rows * options_.repeat};
                    if (options_.warm_up) {
                        warm_up(traffic, where);
                    }
                    options_.verify && !options_.test.latency() ? verified(traffic, where)
                                                                : plain(traffic, where);
                }
            }
        }
    }

    /// Keeps a measurement of row `where.entry`; emits the row when it has all its repeats.
    void keep(Entry entry, const EntryRun::Where& where) {
        if (kept_.empty()) {
            emit(std::move(entry));
            return;
        }
        auto& row = kept_[where.entry % kept_.size()];
        row.push_back(std::move(entry));
        if (row.size() == options_.repeat) {
            emit(combine(std::move(row)));
            row.clear();
        }
    }

    /// Emits the existing repeats of unfinished rows.
    void emit_unfinished() {
        for (auto& row : kept_) {
            if (row.size() > 1 && row.back().partial) {
                row.pop_back();
            }
            if (!row.empty()) {
                Entry entry = combine(std::move(row));
                entry.partial = true;
                row.clear();
                emit(std::move(entry));
            }
        }
    }

    /// Brings caches, pages and the device's tables into their steady state.
    void warm_up(Traffic& traffic, const EntryRun::Where& where) {
        Options few = options_;
        few.iterations = 100;
        few.duration = 0;
        few.run_infinitely = false;
        few.rate = 0;
        EntryRun run(traffic, few, *link_, sink_);
        const Measured mine = run.run(where);
        if (run.ended()) {
            throw RunError(*run.ended());
        }
        run.exchange(mine);
    }

    Entry new_entry(const EntryRun::Where& where) const {
        Entry entry;
        entry.size = where.size;
        entry.qps = where.qps;
        entry.threads = options_.threads;
        entry.started = utc_now();
        return entry;
    }

    void plain(Traffic& traffic, const EntryRun::Where& where) {
        Entry entry = new_entry(where);
        EntryRun run(traffic, options_, *link_, sink_);
        run.start_together = start_together_;
        run.interval = [&](const Measured& part, const Measured& peers) {
            Entry row = new_entry(where);
            fill(row, part, peers, run);
            keep(std::move(row), where);
        };
        auto counters = read_counters(result_.local.device.name, options_.port, counter_names_);
        Measured mine = run.run(where);
        read_again(counters, result_.local.device.name, options_.port);
        mine.counters = counters;
        if (measures() && run.latency.count()) {
            mine.latency = run.latency;
        }
        Measured peers;
        if (!run.ended()) {
            peers = run.exchange(mine);
        }
        entry.partial = run.ended() != nullptr;
        fill(entry, mine, peers, run);
        // After an early end, skip the row if nothing was measured.
        if (!entry.partial || entry.iterations) {
            keep(std::move(entry), where);
        } else if (measures()) {
            warn("nothing was measured yet");
        }
        if (run.ended()) {
            throw RunError(*run.ended());
        }
    }

    /// Returns true on the initiator, and with -b on both sides: their rows have their own
    /// measurement, others the peer's.
    [[nodiscard]] bool measures() const { return role_.initiator || options_.bidirectional; }

    void fill(Entry& entry, const Measured& mine, const Measured& peers, EntryRun& run) {
        const bool latency = options_.test.latency();
        const Measured& from = measures() ? mine : peers;
        entry.iterations = from.messages;
        entry.bytes = from.messages * entry.size;
        entry.seconds = from.seconds;
        if (!latency) {
            Bandwidth bandwidth;
            bandwidth.message_rate = from.rate + (options_.bidirectional ? peers.rate : 0);
            bandwidth.average = bandwidth.message_rate * static_cast<double>(entry.size);
            bandwidth.peak = (from.peak + (options_.bidirectional ? peers.peak : 0)) *
                             static_cast<double>(entry.size);
            entry.bandwidth = bandwidth;
        }
        entry.latency = from.latency;
        entry.samples = run.samples;
        if (options_.rate > 0) {
            entry.rate = RateOutcome{options_.rate, from.rate, from.late};
        }
        entry.cpu = mine.cost;
        entry.peer_cpu = peers.cost;
        entry.counters = mine.counters;
        entry.peer_counters = peers.counters;
        entry.lost = mine.lost + peers.lost;
        entry.series = from.series;
        if (options_.verify) {
            entry.verification = mine.verification;
            merge(*entry.verification, peers.verification);
        }
    }

    static void merge(Verification& sum, const Verification& more) {
        sum.messages += more.messages;
        sum.bytes += more.bytes;
        sum.wrong += more.wrong;
        sum.lost += more.lost;
        if (sum.first.empty()) {
            sum.first = more.first;
        }
    }

    void verified(Traffic& traffic, const EntryRun::Where& where) {
        Entry entry = new_entry(where);
        const VerifiedRun run{traffic, options_, *link_, where.size, where.qps, traffic.extended()};
        auto counters = read_counters(result_.local.device.name, options_.port, counter_names_);
        VerifiedOutcome out;
        if (role_.initiator) {
            const auto began = monotonic_ns();
            out = lead_rounds(run, [&](const VerifiedOutcome& sofar) {
                Progress progress;
                progress.size = where.size;
                progress.qps = where.qps;
                progress.entry = where.entry;
                progress.entries = where.entries;
                progress.messages = sofar.messages;
                progress.bytes = sofar.messages * where.size;
                progress.seconds = static_cast<double>(monotonic_ns() - began) * 1e-9;
                const double goal = options_.duration
                                        ? options_.duration
                                        : static_cast<double>(options_.iterations) * where.qps;
                progress.done = std::min(
                    1.0,
                    (options_.duration ? progress.seconds : static_cast<double>(sofar.messages)) /
                        goal);
                sink_.progress(progress);
            });
        } else {
            out = follow_rounds(run);
        }
        read_again(counters, result_.local.device.name, options_.port);
        Measured mine;
        mine.messages = out.messages;
        mine.seconds = out.seconds;
        mine.rate = out.seconds > 0 ? static_cast<double>(out.messages) / out.seconds : 0;
        mine.cost = out.cost;
        mine.counters = counters;
        // The initiator's verification includes both sides.
        mine.verification = role_.initiator ? out.verification : Verification{};
        const bool interrupted = Interrupt::instance().seen();
        Measured peers;
        if (!interrupted) {
            link_->send("report", to_json(mine));
            peers = measured_from(link_->expect("report", false));
        }
        EntryRun none(traffic, options_, *link_, sink_);
        entry.partial = interrupted;
        fill(entry, mine, peers, none);
        keep(std::move(entry), where);
        if (interrupted) {
            throw RunError(Exit::kInterrupted, "interrupted");
        }
    }

    void emit(Entry entry) {
        limits_.note(entry);
        result_.entries.push_back(std::move(entry));
        sink_.entry(result_, result_.entries.back());
    }

    Options& options_;
    Sink& sink_;
    Result& result_;
    Role role_;
    std::unique_ptr<Link> link_;
    std::function<void(Link&)> start_together_;  ///< --clients
    std::unique_ptr<CmConnector> cm_;            ///< -R; keeps the connections until the end
    std::vector<std::string> counter_names_;
    std::vector<std::vector<Entry>> kept_;  ///< --repeat: the measurements of each row so far
    Limits limits_;
    unsigned clients_ = 1;  ///< concurrent clients of the server
    bool exchanging_ = false;
};

}  // namespace

void Limits::note(const Entry& entry) {
    if (entry.bandwidth) {
        const double shown =
            entry.bandwidth->average / (options_.report.gbits ? 1e9 / 8 : 1048576.0);
        const double rate = entry.bandwidth->message_rate / 1e6;
        char text[128];
        if (options_.limit_bandwidth && shown < *options_.limit_bandwidth) {
            std::snprintf(text, sizeof text, "%.2f %s is below -w %.2f", shown,
                          options_.report.gbits ? "Gb/s" : "MiB/s", *options_.limit_bandwidth);
            below_ = text;
        }
        if (options_.limit_message_rate && rate < *options_.limit_message_rate) {
            std::snprintf(text, sizeof text, "%.6f Mpps is below -y %.6f", rate,
                          *options_.limit_message_rate);
            below_ = text;
        }
    }
    if (entry.verification && !entry.verification->ok()) {
        wrong_ = std::to_string(entry.verification->wrong) + " of " +
                 std::to_string(entry.verification->messages) +
                 " messages were wrong; the first: " + entry.verification->first;
    }
}

void Limits::check() const {
    if (!wrong_.empty()) {
        throw RunError(Exit::kData, wrong_);
    }
    if (!below_.empty()) {
        throw RunError(Exit::kLimit, below_);
    }
}

namespace {

Exit run_with(Options& options, Sink& sink, OneOfMany* client, Result& result) {
    Interrupt::instance();
    ns_per_tick();
    result.version = RDMA_BENCH_VERSION;
    result.test = options.test;
    result.client = options.client();
    result.started = utc_now();
    Session session(options, sink, result, client);
    Exit status = Exit::kGood;
    const auto fail = [&](const RunError& error) {
        session.give_up(error);
        result.error = error.what();
        status = error.status();
    };
    try {
        status = session.run();
    } catch (const RunError& error) {
        fail(error);
    } catch (const nlohmann::json::exception&) {
        fail(RunError(Exit::kFailed,
                      "the peer's messages are not those of rdma-bench " RDMA_BENCH_VERSION));
    } catch (const std::exception& error) {
        fail(RunError(Exit::kFailed, error.what()));
    }
    result.exit_status = static_cast<int>(status);
    sink.done(result);
    return status;
}

}  // namespace

Exit run_session(Options options, Sink& sink) {
    Result result;
    const Exit status = run_with(options, sink, nullptr, result);
    if (!result.error.empty()) {
        warn(result.error);
    }
    return status;
}

Exit run_session_with(Options options, Sink& sink, OneOfMany client) {
    Result result;
    return run_with(options, sink, &client, result);
}

}  // namespace rdma_bench
