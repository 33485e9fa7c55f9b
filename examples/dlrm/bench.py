#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What each stage of docs/dlrm.md takes on this machine, as a table or JSON.

Stages: lines to records and preprocessing on the CPU (C++, numpy, PyTorch where they are), the model's compute kernel,
the pipeline between two kernel-less cards with and without it, a training step. A kernel-less card is a thread of this
machine: its numbers say what emulation costs, not what a board does.
"""
import argparse
import json
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time

import reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "bin"
RECORDS, MODULUS, PORT = 4096, 8192, 18491


def best(action, seconds=1.0):
    """Shortest time of one call, over about so many seconds."""
    shortest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        action()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def row(stage, seconds, records):
    return {"stage": stage, "records_per_s": records / seconds, "mb_per_s": records * reference.RECORD_BYTES / seconds / 1e6}


def cplusplus():
    program = BIN / "dlrm_bench"
    if not program.exists():
        return []
    out = json.loads(subprocess.run([program, "--benchmark_format=json"], check=True, capture_output=True).stdout)
    names = {"parse_lines": "lines to records, C++, 1 thread", "cpu_reference": "preprocess, C++, 1 thread",
             "model_kernel": "preprocess, the model's kernel, 1 thread"}
    return [row(names[b["name"]], 1 / b["items_per_second"], 1) for b in out["benchmarks"] if b["name"] in names]


def in_numpy(file):
    try:
        import numpy as np  # pylint: disable=import-outside-toplevel
    except ImportError:
        return []
    records = np.fromfile(file, dtype="<u4").reshape(-1, reference.WORDS)
    rows = [row("preprocess, numpy, card's bits", best(lambda: reference.preprocess_numpy(records, MODULUS)), RECORDS)]

    def plain():
        dense = np.log1p(np.maximum(records[:, 1:14].view(np.int32), 0).astype(np.float32))
        return dense, records[:, 16:42] % np.uint32(MODULUS)
    return rows + [row("preprocess, numpy, log1p", best(plain), RECORDS)]


def in_torch(file):
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        return []
    rows = []
    words = torch.frombuffer(bytearray(pathlib.Path(file).read_bytes()), dtype=torch.int32).reshape(-1, reference.WORDS)
    for device in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
        there = words.to(device)

        def step(there=there, device=device):
            torch.log1p(there[:, 1:14].clamp(min=0).to(torch.float32))
            (there[:, 16:42].to(torch.int64) & 0xFFFFFFFF).remainder(MODULUS)
            if device == "cuda":
                torch.cuda.synchronize()
        rows.append(row(f"preprocess, PyTorch on {device}, log1p, {torch.get_num_threads()} threads", best(step), RECORDS))
    return rows


def wait_listening():
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", PORT)) == 0:
                return
        time.sleep(0.05)
    sys.exit("bench.py: the trainer does not listen")


def pipeline(file, stage, trainer, sender=""):
    """Two cards of one process; what dlrm-storage says."""
    def run(card, command):
        return subprocess.Popen([BIN / "dingo", "run", "--card", card, "--", *command], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
    batches = 3000
    common = ["-b", str(RECORDS), "-n", str(batches), "-p", str(PORT)]
    check = run("dlrm-trainer", [BIN / "dlrm-check", file, "--fast", *common, *shlex.split(trainer)])
    wait_listening()
    storage = run("dlrm-storage", [BIN / "dlrm-storage", file, "127.0.0.1", *common, *shlex.split(sender)])
    out, errors = storage.communicate(timeout=300)
    check.communicate(timeout=60)
    found = re.search(r"in ([0-9.]+) s", out)
    if not found:
        sys.exit(f"bench.py: {stage}: {errors}")
    return row(stage, float(found[1]), batches * RECORDS)


def pipelines(file):
    cards = ["dlrm-trainer", "dlrm-storage"]
    try:
        for card in cards:
            subprocess.run([BIN / "dingo", "card", "start", card, "--one-process"], check=True, stdout=subprocess.DEVNULL)
        return [pipeline(file, "stream, nobody preprocesses", "-m 0"),
                pipeline(file, "stream, the receiving card preprocesses", f"-m {MODULUS}"),
                pipeline(file, "stream, the sending card preprocesses", f"-m {MODULUS} --sender", f"-m {MODULUS}")]
    finally:
        for card in cards:
            subprocess.run([BIN / "dingo", "card", "stop", card], check=False, stdout=subprocess.DEVNULL)


def training(file):
    try:
        import torch  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        return []
    import train  # pylint: disable=import-outside-toplevel
    batches = 20
    args = argparse.Namespace(file=file, feed=False, batch=[RECORDS], batches=batches, modulus=MODULUS, width=16, rate=0.1,
                              seed=1, mem="host")
    start = time.perf_counter()
    train.train(args)
    return [row("training, PyTorch on cpu, 1 thread, with numpy's preprocessing", time.perf_counter() - start,
                batches * RECORDS)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "clicks.rec"
        subprocess.run([BIN / "dingo-criteo", "generate", "-f", "records", "-n", str(RECORDS), file], check=True,
                       stderr=subprocess.DEVNULL)
        rows = cplusplus() + in_numpy(file) + in_torch(file) + pipelines(file) + training(file)
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    print("| stage | records/s | MB/s |\n| --- | ---: | ---: |")
    for line in rows:
        print(f"| {line['stage']} | {line['records_per_s']:,.0f} | {line['mb_per_s']:,.0f} |")


if __name__ == "__main__":
    main()
