#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Connects to a UNIX socket, passes the connection to ssh (ProxyUseFdpass), and exits.

usage: pass_socket.py SOCKET
"""

import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
socket.send_fds(socket.socket(fileno=1), [b"\0"], [connection.fileno()])
