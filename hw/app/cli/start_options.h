// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>

#include "app/cli/daemon.h"

namespace dingo::cli {

/// Options common to `card start` and `run`.
inline void add_start_options(CLI::App& app, StartOptions& o) {
    app.add_option("--ip", o.ips,
                   "Address and prefix of the card; more than one may be given (default: "
                   "10.77.0.(N+1)/24 and fd77::(N+1)/64 for uverbsN)")
        ->type_name("ADDR/PREFIX")
        ->take_all()
        ->allow_extra_args(false);
    app.add_option("--wire", o.wire,
                   "The wire: shm[:NET], roce[:IP], udp:..., tap:IF, packet:IF, none; "
                   "dingo-card --help explains all")
        ->type_name("SPEC")
        ->capture_default_str();
    app.add_option("--faults", o.faults, "Faults on the wire, e.g. drop=1%")->type_name("SPEC");
    app.add_option("--pcap", o.pcap, "Record every frame on the wire in this file")
        ->type_name("FILE");
    app.add_option("--engine", o.engine, "Engine of the card: model or rtl (default: model)")
        ->type_name("NAME");
    app.add_option("--mac", o.mac, "MAC address (default: made from the card's directory)")
        ->type_name("MAC");
    app.add_option("--mtu", o.mtu,
                   "Largest path MTU of the port (default: 4096, or what fits the MTU of the roce "
                   "interface)")
        ->type_name("256|512|1024|2048|4096")
        ->check(CLI::IsMember({256U, 512U, 1024U, 2048U, 4096U}));
    app.add_option("--device-memory", o.device_memory,
                   "Device memory for ibv_alloc_dm (default: 16; 0: none)")
        ->type_name("MIB")
        ->check(CLI::Range(0, 65'536));
    app.add_flag("--share", o.share, "Other users of this machine may use the card, too");
    auto* const own = app.add_flag_callback(
        "--own-process", [&o] { o.process = ProcessChoice::kOwn; },
        "The card gets a process of its own (default with more than four processors)");
    app.add_flag_callback(
           "--one-process", [&o] { o.process = ProcessChoice::kOne; },
           "One process and thread for all cards started with this option (default with up to "
           "four\nprocessors, for cards with wire shm or roce, engine model, not shared)")
        ->excludes(own);
}

}  // namespace dingo::cli
