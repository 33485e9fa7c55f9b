#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Send one QMP command and print its answer; optionally wait for an event.

usage: qmp.py SOCKET JSON-COMMAND [EVENT [SECONDS]]
Exit status: 0 answered, 1 QMP error, 2 no event in time or no connection.
"""

import json
import socket
import sys
import time


def main() -> int:
    path, command = sys.argv[1:3]
    event = sys.argv[3] if len(sys.argv) > 3 else None
    deadline = time.monotonic() + (float(sys.argv[4]) if len(sys.argv) > 4 else 30)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(max(deadline - time.monotonic(), 0.1))
    try:
        connection.connect(path)
        stream = connection.makefile("rw")
        json.loads(stream.readline())
        for text in ('{"execute":"qmp_capabilities"}', command):
            stream.write(json.dumps(json.loads(text)) + "\n")
            stream.flush()
            events = []
            while True:
                answer = json.loads(stream.readline())
                if "event" not in answer:
                    break
                events.append(answer)
        print(json.dumps(answer))
        if "error" in answer:
            return 1
        while event and not any(e["event"] == event for e in events):
            connection.settimeout(max(deadline - time.monotonic(), 0.1))
            events.append(json.loads(stream.readline()))
    except (OSError, ValueError) as error:
        print(f"qmp: {path}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
