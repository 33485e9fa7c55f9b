// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/far_watch.h"

namespace dingo::uverbs {

FarWatch::FarWatch(LocalCard& card, FarStreams& streams)
    : card_(card), streams_(streams), id_(card.watch_kick(streams.fd(), *this)) {}

FarWatch::~FarWatch() {
    card_.unwatch_kick(id_);
}

}  // namespace dingo::uverbs
