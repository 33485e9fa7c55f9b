#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Connect to a UNIX socket and hand the connection to ssh (ProxyUseFdpass), then leave.

usage: pass_socket.py SOCKET
"""

import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
socket.send_fds(socket.socket(fileno=1), [b"\0"], [connection.fileno()])
