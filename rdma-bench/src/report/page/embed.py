#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Joins the page of a report to one C++ string. Its policy names the script's hash, so that no other script runs.

usage: embed.py OUT.cpp report.html STYLE.css SCRIPT.js...
"""
import base64
import hashlib
import pathlib
import sys

out, page, style, *scripts = map(pathlib.Path, sys.argv[1:])
script = "".join(path.read_text(encoding="utf-8") for path in scripts)
digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
text = page.read_text(encoding="utf-8")
for mark, value in ("@HASH@", f"sha256-{digest}"), ("@STYLE@", style.read_text(encoding="utf-8")), ("@SCRIPT@", script):
    if text.count(mark) != 1:
        sys.exit(f"{page}: {mark} is not there once")
    text = text.replace(mark, value)
if ')page"' in text or "</script" in script.lower():
    sys.exit(f"{page}: what ends the string or the script is in it")
out.write_text(f"""#include "report/page/page.h"

namespace rdma_bench::report {{
const std::string_view kPage = R"page({text})page";
}}
""", encoding="utf-8")
