// SPDX-License-Identifier: BSD-2-Clause
// The C interface, except groups and verbs.
#include "qpx/qpx.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "c/convert.h"
#include "c/guard.h"
#include "qpx/peer.h"

struct qpx_connection {
    explicit qpx_connection(qpx::Connection taken)
        : connection(std::move(taken)),
          name(connection.peer_name()),
          address(connection.peer_address()),
          local(connection.local_address()),
          identity(connection.peer_identity()) {}

    qpx::Connection connection;
    std::string name, address, local, identity;
};

struct qpx_listener {
    qpx::Listener listener;
};

namespace {

thread_local std::string last_error;
thread_local int last_detail = 0;

int code_of(qpx::ErrorCode code) {
    switch (code) {
        case qpx::ErrorCode::Argument:
            return QPX_EARGUMENT;
        case qpx::ErrorCode::Resolve:
            return QPX_ERESOLVE;
        case qpx::ErrorCode::Refused:
            return QPX_EREFUSED;
        case qpx::ErrorCode::Timeout:
            return QPX_ETIMEOUT;
        case qpx::ErrorCode::Protocol:
            return QPX_EPROTOCOL;
        case qpx::ErrorCode::Version:
            return QPX_EVERSION;
        case qpx::ErrorCode::Auth:
            return QPX_EAUTH;
        case qpx::ErrorCode::Limit:
            return QPX_ELIMIT;
        case qpx::ErrorCode::PeerGone:
            return QPX_EPEERGONE;
        case qpx::ErrorCode::Device:
            return QPX_EDEVICE;
        case qpx::ErrorCode::Unsupported:
            return QPX_EUNSUPPORTED;
        case qpx::ErrorCode::Cancelled:
            return QPX_ECANCELLED;
    }
    return QPX_EINTERNAL;
}

qpx::PeerOptions options_of(const qpx_options* given) {
    qpx::PeerOptions out;
    if (given == nullptr) {
        return out;
    }
    const qpx_options all = qpx::c::sized(*given, offsetof(qpx_options, stop_on_signal));
    const qpx_options* options = &all;
    out.stop_on_signal = options->stop_on_signal != 0;
    if (options->timeout_ms != 0) {
        out.timeout = std::chrono::milliseconds(options->timeout_ms);
    }
    out.family = options->family;
    out.retry_refused = options->retry_refused != 0;
    out.name = options->name != nullptr ? options->name : "";
    if (options->security != nullptr) {
        out.security = qpx::parse_security(options->security);
    }
    return out;
}

/// Returns a message; *message is NULL if it is empty.
void give(const std::vector<std::byte>& got, void** message, size_t* length) {
    *message = got.empty() ? nullptr : qpx::c::copy_out(got.data(), got.size());
    *length = got.size();
}

}  // namespace

namespace qpx::c {

int failed(int code, const char* text, int detail) noexcept {
    last_detail = detail;
    try {
        last_error = text;
    } catch (const std::bad_alloc&) {
        last_error.clear();
    }
    return -code;
}

int failed(const Error& error) noexcept {
    return failed(code_of(error.code()), error.what(), error.detail());
}

}  // namespace qpx::c

using qpx::c::guarded;
using qpx::c::guarded_bool;
using qpx::c::want;

const char* qpx_version() {
    return QPX_VERSION;
}
const char* qpx_last_error() {
    return last_error.c_str();
}

int qpx_last_detail() {
    return last_detail;
}

const char* qpx_strerror(int code) {
    switch (std::abs(code)) {
        case 0:
            return "success";
        case QPX_EARGUMENT:
            return "an argument cannot be used";
        case QPX_ERESOLVE:
            return "host name, address or port not known";
        case QPX_EREFUSED:
            return "refused";
        case QPX_ETIMEOUT:
            return "timed out";
        case QPX_EPROTOCOL:
            return "the peer does not keep to the protocol";
        case QPX_EVERSION:
            return "the peer speaks another version";
        case QPX_EAUTH:
            return "authentication failed";
        case QPX_ELIMIT:
            return "a limit is exceeded";
        case QPX_EPEERGONE:
            return "the peer is gone";
        case QPX_EDEVICE:
            return "a verbs call failed";
        case QPX_EUNSUPPORTED:
            return "not supported";
        case QPX_ECANCELLED:
            return "cancelled";
        case QPX_EINTERNAL:
            return "internal failure";
        default:
            return "unknown error";
    }
}

int qpx_connect(const char* url, const qpx_options* options, qpx_connection** connection) {
    return guarded([&] {
        want(url, "url");
        want(connection, "connection");
        *connection =
            new qpx_connection(qpx::Connection::connect(qpx::parse_url(url), options_of(options)));
    });
}

int qpx_listen(const char* url, const qpx_options* options, qpx_listener** listener) {
    return guarded([&] {
        want(url, "url");
        want(listener, "listener");
        // Port 0 is valid only here; the URL parser accepts none for clients.
        std::string text = url;
        if (text.ends_with(":0")) {
            text.resize(text.size() - 2);
        }
        *listener = new qpx_listener{qpx::Listener(qpx::parse_url(text), options_of(options))};
    });
}

int qpx_accept(qpx_listener* listener, int timeout_ms, qpx_connection** connection) {
    return guarded([&] {
        want(listener, "listener");
        want(connection, "connection");
        *connection =
            new qpx_connection(listener->listener.accept(std::chrono::milliseconds(timeout_ms)));
    });
}

int qpx_try_accept(qpx_listener* listener, qpx_connection** connection) {
    return guarded_bool([&] {
        want(listener, "listener");
        want(connection, "connection");
        auto accepted = listener->listener.try_accept();
        if (accepted) {
            *connection = new qpx_connection(std::move(*accepted));
        }
        return accepted.has_value();
    });
}

int qpx_listener_fd(const qpx_listener* listener) {
    return listener->listener.fd();
}
void qpx_listener_cancel(qpx_listener* listener) {
    listener->listener.cancel();
}

int qpx_listener_turned_away(qpx_listener* listener, char** lines) {
    return guarded([&] {
        want(listener, "listener");
        want(lines, "lines");
        std::string all;
        for (const std::string& line : listener->listener.turned_away()) {
            all += line + "\n";
        }
        *lines = all.empty() ? nullptr
                             : static_cast<char*>(qpx::c::copy_out(all.c_str(), all.size() + 1));
    });
}

uint16_t qpx_listener_port(const qpx_listener* listener) {
    return listener->listener.port();
}
void qpx_listener_close(qpx_listener* listener) {
    delete listener;
}

int qpx_exchange(qpx_connection* connection, const qpx_endpoint* mine, size_t count,
                 qpx_endpoint** theirs, size_t* their_count) {
    return guarded([&] {
        want(connection, "connection");
        want(mine, "mine");
        want(theirs, "theirs");
        want(their_count, "their_count");
        std::vector<qpx::Endpoint> list;
        for (const qpx_endpoint& endpoint : std::span(mine, count)) {
            list.push_back(qpx::c::from_c(endpoint));
        }
        const auto got = connection->connection.exchange(list);
        *theirs = qpx::c::to_c(got);
        *their_count = got.size();
    });
}

int qpx_endpoint_pack(const qpx_endpoint* endpoint, void** bytes, size_t* length) {
    return guarded([&] {
        want(endpoint, "endpoint");
        want(bytes, "bytes");
        want(length, "length");
        give(qpx::pack(qpx::c::from_c(*endpoint)), bytes, length);
    });
}

int qpx_endpoint_unpack(const void* bytes, size_t length, qpx_endpoint** endpoint) {
    return guarded([&] {
        want(bytes, "bytes");
        want(endpoint, "endpoint");
        const qpx::Endpoint got = qpx::unpack({static_cast<const std::byte*>(bytes), length});
        *endpoint = qpx::c::to_c({&got, 1});
    });
}

int qpx_should_connect(const char* mine, const char* theirs) {
    return guarded_bool([&] {
        want(mine, "mine");
        want(theirs, "theirs");
        return qpx::should_connect(mine, theirs);
    });
}

int qpx_send(qpx_connection* connection, const void* message, size_t length) {
    return guarded([&] {
        want(connection, "connection");
        if (length != 0) {
            want(message, "message");
        }
        connection->connection.send({static_cast<const std::byte*>(message), length});
    });
}

int qpx_receive(qpx_connection* connection, void** message, size_t* length) {
    return guarded([&] {
        want(connection, "connection");
        want(message, "message");
        want(length, "length");
        give(connection->connection.receive(), message, length);
    });
}

int qpx_try_receive(qpx_connection* connection, void** message, size_t* length) {
    return guarded_bool([&] {
        want(connection, "connection");
        want(message, "message");
        want(length, "length");
        const auto got = connection->connection.try_receive();
        if (got) {
            give(*got, message, length);
        }
        return got.has_value();
    });
}

void qpx_cancel(qpx_connection* connection) {
    connection->connection.cancel();
}

int qpx_barrier(qpx_connection* connection) {
    return guarded([&] {
        want(connection, "connection");
        connection->connection.barrier();
    });
}

void qpx_set_timeout(qpx_connection* connection, int timeout_ms) {
    connection->connection.set_timeout(std::chrono::milliseconds(timeout_ms));
}

void qpx_refuse(qpx_connection* connection, const char* reason) {
    guarded([&] { connection->connection.refuse(reason != nullptr ? reason : ""); });
}

void qpx_close(qpx_connection* connection) {
    delete connection;
}

const char* qpx_peer_name(const qpx_connection* connection) {
    return connection->name.c_str();
}
const char* qpx_peer_address(const qpx_connection* connection) {
    return connection->address.c_str();
}
const char* qpx_local_address(const qpx_connection* connection) {
    return connection->local.c_str();
}
const char* qpx_peer_identity(const qpx_connection* connection) {
    return connection->identity.c_str();
}
int qpx_secure(const qpx_connection* connection) {
    return connection->connection.secure() ? 1 : 0;
}
int qpx_fd(const qpx_connection* connection) {
    int fd = -1;
    guarded([&] { fd = connection->connection.fd(); });
    return fd;
}
