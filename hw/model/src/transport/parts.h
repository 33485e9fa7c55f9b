// SPDX-License-Identifier: BSD-2-Clause
//
// The parts of a transport and their dependences. docs/architecture.md has a line for each part.
#pragma once

#include "ack_nak.h"
#include "completer.h"
#include "completions.h"
#include "datagram.h"
#include "deadlines.h"
#include "dispatch.h"
#include "duplicates.h"
#include "error_flow.h"
#include "far_settling.h"
#include "far_work.h"
#include "flush.h"
#include "frame_writer.h"
#include "local_ops.h"
#include "paths.h"
#include "payload.h"
#include "read_responses.h"
#include "receives.h"
#include "requester.h"
#include "responder.h"
#include "retransmit.h"
#include "rnr.h"
#include "room_waits.h"
#include "scheduler.h"
#include "send_queue.h"
#include "transport.h"
#include "unreliable_connected.h"

namespace dingo::model {

/// In order of dependence: each part knows only parts above it.
struct Transport::Parts {
    CardContext& card;
    TransportHost& host;
    MemoryTable& memory;
    Port& port;

    // --- services
    Scheduler scheduler{};
    RoomWaits rooms{scheduler};
    FrameWriter frame{card, port};
    Deadlines deadlines{card};
    Paths paths{port};
    FarWork far{card, memory};
    Payload payload{memory, frame, far};
    ErrorFlow errors{card, host, deadlines, scheduler};
    Completions completions{card, far, errors};
    Receives receives{card, host, far, completions};
    Flush flush{card, host, far, completions, receives};

    // --- replies owed by a responder
    AckNak ack_nak{card, host, frame, far, scheduler, paths, errors};
    ReadResponses responses{frame, far, scheduler, deadlines, memory, ack_nak};
    Duplicates duplicates{card, ack_nak, responses};

    // --- requester
    SendQueue send_queue{card, host, far, deadlines, scheduler, errors, completions};
    Retransmit retransmit{card, deadlines, scheduler, send_queue};
    FarSettling settling{card,        far,     scheduler,  errors,
                         completions, ack_nak, send_queue, retransmit};
    Rnr rnr{card, deadlines, send_queue, retransmit, ack_nak};
    LocalOps local_ops{memory, send_queue};
    Requester requester{card, frame, far, deadlines, paths, payload, send_queue, local_ops};
    Completer completer{card, payload, send_queue, retransmit, rnr};

    // --- responders
    Responder responder{card,     memory,  far, paths,     payload,   errors,
                        receives, ack_nak, rnr, responses, duplicates};
    UnreliableConnected unreliable{card, memory, far, payload, errors, receives};
    Datagram datagram{card,    port,   frame,       far,      deadlines,  paths,
                      payload, errors, completions, receives, send_queue, local_ops};
    Dispatch dispatch{card,      host,      port,       scheduler, paths,
                      completer, responder, unreliable, datagram};
};

}  // namespace dingo::model
