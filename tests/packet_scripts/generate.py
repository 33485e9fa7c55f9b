#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the packet scripts that have one case for each value of a parameter. usage: generate.py
DIRECTORY"""
import os
import sys

HEAD = "# SPDX-License-Identifier: BSD-2-Clause\n# Made by tests/packet_scripts/generate.py: {}\n"
MTUS = (256, 512, 1024, 2048, 4096)
RNR_10US = (65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
            2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152)
RESPONSES = ("RC_RDMA_READ_RESPONSE_FIRST", "RC_RDMA_READ_RESPONSE_MIDDLE", "RC_RDMA_READ_RESPONSE_LAST",
             "RC_RDMA_READ_RESPONSE_ONLY", "RC_ACKNOWLEDGE", "RC_ATOMIC_ACKNOWLEDGE")
SENDS = ("RC_SEND_FIRST", "RC_SEND_MIDDLE", "RC_SEND_LAST", "RC_SEND_LAST_IMM", "RC_SEND_ONLY", "RC_SEND_ONLY_IMM",
         "RC_SEND_LAST_INV", "RC_SEND_ONLY_INV")
WRITES = ("RC_RDMA_WRITE_FIRST", "RC_RDMA_WRITE_MIDDLE", "RC_RDMA_WRITE_LAST", "RC_RDMA_WRITE_LAST_IMM",
          "RC_RDMA_WRITE_ONLY", "RC_RDMA_WRITE_ONLY_IMM")
OTHERS = ("RC_RDMA_READ_REQUEST", "RC_COMPARE_SWAP", "RC_FETCH_ADD")
OPCODES = SENDS + WRITES + OTHERS + RESPONSES


class Script:
    """A script file: a prologue and cases."""

    def __init__(self, directory, name, about, prologue):
        self.path = os.path.join(directory, name + ".pkt")
        self.lines = [HEAD.format(about)] + [line + "\n" for line in prologue]

    def case(self, name, *lines):
        self.lines += [f"\ncase {name}\n"] + [line + "\n" for line in lines]

    def write(self):
        text = "".join(self.lines)
        if not os.path.exists(self.path) or open(self.path, encoding="utf-8").read() != text:
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(text)


def place(opcode):
    """Returns the opcode's position in a message: 'first', 'middle', 'last' or 'only'."""
    for word in ("FIRST", "MIDDLE", "LAST"):
        if f"_{word}" in opcode:
            return word.lower()
    return "only"


def kind(opcode):
    return "send" if opcode in SENDS else "write" if opcode in WRITES else "other" if opcode in OTHERS else "response"


def request(opcode, psn, message_bytes, remaining):
    """Returns the frame line of one packet of a message; `remaining`: the message's bytes from this
    packet on."""
    words = [f"< {opcode} qpn=0x11 psn={psn}"]
    if "IMM" in opcode:
        words.append("imm=0x55")
    if "INV" in opcode:
        words.append("inv=mr3")
    if opcode in RESPONSES:
        if opcode != "RC_RDMA_READ_RESPONSE_MIDDLE":
            words.append("syndrome=ack msn=1")
        if "READ" in opcode:
            words.append("payload=8")
        return " ".join(words)
    if kind(opcode) == "write" and place(opcode) in ("first", "only"):
        words.append(f"va=mr1 rkey=mr1 len={message_bytes}")
    if opcode == "RC_RDMA_READ_REQUEST":
        words.append("va=mr1 rkey=mr1 len=8")
    elif kind(opcode) == "other":
        words.append("va=mr1 rkey=mr1 " + ("compare=1 swap=2" if "SWAP" in opcode else "add=1"))
    else:
        payload = 1024 if place(opcode) in ("first", "middle") else remaining
        words.append(f"payload=pattern:{payload}")
    if place(opcode) in ("last", "only"):
        words.append("ackreq")
    return " ".join(words)


def answer(opcode, psn):
    if place(opcode) in ("first", "middle"):
        return None
    if opcode == "RC_RDMA_READ_REQUEST":
        return f"> RC_RDMA_READ_RESPONSE_ONLY qpn=0x22 psn={psn} syndrome=ack payload=any"
    if kind(opcode) == "other":
        return f"> RC_ATOMIC_ACKNOWLEDGE qpn=0x22 psn={psn} syndrome=ack"
    return f"> RC_ACKNOWLEDGE qpn=0x22 psn={psn} syndrome=ack"


def opcode_pairs(directory):
    """All ordered pairs of the 23 RC opcodes: accepted, NAK 0x61, or dropped."""
    for first in OPCODES:
        script = Script(directory, f"opcode_pairs_{first.lower()}", f"{first} and then each RC opcode.", [
            "need ATOMIC", "need SEND_INV", "need MW",
            "mr 1 va=0x10000 len=65536 access=lrwab", "mr 2 va=0x40000 len=65536 access=l",
            "qp 0x11 rc mtu=1024 rq_psn=100 sq_psn=200 dest=0x22",
            "window 3 mr=1 va=mr1+4096 len=64 access=rw", "window 4 mr=1 va=mr1+8192 len=64 access=rw",
            "post recv wr=10 sge=mr2+0:8192", "post recv wr=11 sge=mr2+0:8192"])
        for second in OPCODES:
            script.case(f"{first}_then_{second}".lower(), *opcode_pair(first, second))
        script.write()


def opcode_pair(first, second):
    # The length of a message that begins with `first` and that `second` could end or continue.
    total = 1024 + (8 if place(second) == "last" else 4096)
    state, psn, dead, lines = None, 100, False, []
    for opcode in (first, second):
        message = total if place(opcode) == "first" else 8
        line = request(opcode, psn, message, 8)
        if opcode is second:
            line = line.replace("inv=mr3", "inv=mr4")
        lines.append(line)
        if kind(opcode) == "response":
            lines.append("no frame")
            continue
        if dead:
            lines.append("no frame")
            continue
        begins = place(opcode) in ("first", "only")
        if (state is None) == begins and (begins or kind(opcode) == state):
            if answer(opcode, psn):
                lines.append(answer(opcode, psn))
            lines.append("no frame")
            if place(opcode) == "first":
                state = kind(opcode)
            elif place(opcode) == "last":
                state = None
            psn += 1
        else:
            lines += [f"> RC_ACKNOWLEDGE qpn=0x22 psn={psn} syndrome=nak:invreq", "event QP_REQ_ERR"]
            dead = True
    lines += [f"state 0x11 {'ERR' if dead else 'RTS'}", "ignore cqe"]
    return lines


def lengths(directory):
    """C9-92: the payload of each packet of a message, for each path MTU."""
    for mtu in MTUS:
        script = Script(directory, f"lengths_mtu_{mtu}", f"C9-92 at path MTU {mtu}.", [
            "mr 1 va=0x10000 len=65536 access=lrwa", "mr 2 va=0x100000000 len=0x80000001 access=lrwa",
            "mr 5 va=0x40000 len=65536 access=l",
            f"qp 0x11 rc mtu={mtu} rq_psn=100 sq_psn=200 dest=0x22"])
        ack, nak = "syndrome=ack", "syndrome=nak:invreq"

        def verdict(name, good, psn, *frames):
            lines = list(frames) + [f"> RC_ACKNOWLEDGE qpn=0x22 psn={psn} {ack if good else nak}"]
            lines += ["state 0x11 RTS", "ignore cqe"] if good else ["event QP_REQ_ERR", "state 0x11 ERR", "ignore cqe"]
            script.case(name, *lines)

        recv = "post recv wr=10 sge=mr5+0:20000"
        for size in (0, 1, mtu - 1, mtu, mtu + 1):
            good = size <= mtu
            verdict(f"send_only_of_{size}", good, 100, recv, f"< RC_SEND_ONLY qpn=0x11 psn=100 payload={size} ackreq")
            verdict(f"write_only_of_{size}", good, 100,
                    f"< RC_RDMA_WRITE_ONLY qpn=0x11 psn=100 va=mr1 rkey=mr1 len={size} payload={size} ackreq")
        for size in (0, mtu - 4, mtu + 4):
            verdict(f"send_first_of_{size}", False, 100, recv, f"< RC_SEND_FIRST qpn=0x11 psn=100 payload={size}")
            verdict(f"write_first_of_{size}", False, 100,
                    f"< RC_RDMA_WRITE_FIRST qpn=0x11 psn=100 va=mr1 rkey=mr1 len={3 * mtu} payload={size}")
            verdict(f"send_middle_of_{size}", False, 101, recv, f"< RC_SEND_FIRST qpn=0x11 psn=100 payload={mtu}",
                    f"< RC_SEND_MIDDLE qpn=0x11 psn=101 payload={size}")
            verdict(f"write_middle_of_{size}", False, 101,
                    f"< RC_RDMA_WRITE_FIRST qpn=0x11 psn=100 va=mr1 rkey=mr1 len={3 * mtu} payload={mtu}",
                    f"< RC_RDMA_WRITE_MIDDLE qpn=0x11 psn=101 payload={size}")
        for size in (0, 1, mtu - 1, mtu, mtu + 1):
            good = 0 < size <= mtu
            verdict(f"send_last_of_{size}", good, 101, recv, f"< RC_SEND_FIRST qpn=0x11 psn=100 payload={mtu}",
                    f"< RC_SEND_LAST qpn=0x11 psn=101 payload={size} ackreq")
            verdict(f"write_last_of_{size}", good, 101,
                    f"< RC_RDMA_WRITE_FIRST qpn=0x11 psn=100 va=mr1 rkey=mr1 len={mtu + max(size, 1)} payload={mtu}",
                    f"< RC_RDMA_WRITE_LAST qpn=0x11 psn=101 payload={size} ackreq")
        for name, length in (("less", 12), ("more", 20)):
            verdict(f"write_only_whose_length_says_{name}", False, 100,
                    f"< RC_RDMA_WRITE_ONLY qpn=0x11 psn=100 va=mr1 rkey=mr1 len={length} payload=16 ackreq")
            verdict(f"write_last_whose_length_says_{name}", False, 101,
                    f"< RC_RDMA_WRITE_FIRST qpn=0x11 psn=100 va=mr1 rkey=mr1 len={mtu + length} payload={mtu}",
                    "< RC_RDMA_WRITE_LAST qpn=0x11 psn=101 payload=16 ackreq")
        verdict("write_first_whose_length_fits_one_packet", False, 100,
                f"< RC_RDMA_WRITE_FIRST qpn=0x11 psn=100 va=mr1 rkey=mr1 len={mtu} payload={mtu}")
        verdict("write_middle_that_ends_the_length", False, 101,
                f"< RC_RDMA_WRITE_FIRST qpn=0x11 psn=100 va=mr1 rkey=mr1 len={2 * mtu} payload={mtu}",
                f"< RC_RDMA_WRITE_MIDDLE qpn=0x11 psn=101 payload={mtu}")
        verdict("write_longer_than_2_to_the_31", False, 100,
                f"< RC_RDMA_WRITE_FIRST qpn=0x11 psn=100 va=mr2 rkey=mr2 len=0x80000001 payload={mtu}")
        verdict("read_longer_than_2_to_the_31", False, 100,
                "< RC_RDMA_READ_REQUEST qpn=0x11 psn=100 va=mr2 rkey=mr2 len=0x80000001")
        script.case("write_of_2_to_the_31_begins",
                    f"< RC_RDMA_WRITE_FIRST qpn=0x11 psn=100 va=mr2 rkey=mr2 len=0x80000000 payload={mtu}",
                    "no frame", "state 0x11 RTS", f"mem mr2+0 pattern:{mtu}")
        script.case("read_of_2_to_the_31_is_one_request",
                    "post read wr=1 to=0x1000 rkey=7 sge=mr2+0:0x80000000",
                    "> RC_RDMA_READ_REQUEST qpn=0x22 psn=200 va=0x1000 rkey=7 len=0x80000000",
                    f"query 0x11 sq_psn={(200 + 0x80000000 // mtu) & 0xffffff}")
        script.write()


def segmentation(directory):
    """Requests of every length class are cut into packets of the path MTU."""
    for mtu in MTUS:
        script = Script(directory, f"segmentation_mtu_{mtu}", f"cutting messages at path MTU {mtu}.", [
            "mr 1 va=0x10000 len=65536 access=lrwa", "fill mr1+0 pattern:65536",
            f"qp 0x11 rc mtu={mtu} rq_psn=100 sq_psn=200 dest=0x22"])
        for size in (1, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 3 * mtu + 5):
            for verb, stem in (("write", "RC_RDMA_WRITE"), ("send", "RC_SEND")):
                count = max(1, -(-size // mtu))
                lines = [f"post {verb} wr=1 to=0x5000 rkey=7 sge=mr1+0:{size}"
                         if verb == "write" else f"post send wr=1 sge=mr1+0:{size}"]
                for i in range(count):
                    part = "ONLY" if count == 1 else "FIRST" if i == 0 else "LAST" if i == count - 1 else "MIDDLE"
                    reth = f" va=0x5000 rkey=7 len={size}" if verb == "write" and i == 0 else ""
                    length = min(mtu, size - i * mtu)
                    flag = " ackreq" if i == count - 1 else ""
                    lines.append(f"> {stem}_{part} qpn=0x22 psn={200 + i}{reth} payload=pattern:{length}@{i * mtu}{flag}")
                lines += [f"< RC_ACKNOWLEDGE qpn=0x11 psn={199 + count} syndrome=ack msn=1", "cqe wr=1"]
                script.case(f"{verb}_of_{size}", *lines)
            count = -(-size // mtu)
            lines = [f"< RC_RDMA_READ_REQUEST qpn=0x11 psn=100 va=mr1 rkey=mr1 len={size}"]
            for i in range(count):
                part = "ONLY" if count == 1 else "FIRST" if i == 0 else "LAST" if i == count - 1 else "MIDDLE"
                lines.append(f"> RC_RDMA_READ_RESPONSE_{part} qpn=0x22 psn={100 + i} "
                             f"payload=pattern:{min(mtu, size - i * mtu)}@{i * mtu}")
            script.case(f"read_response_of_{size}", *lines)
        script.write()


def rnr(directory):
    """RNR NAK: every timer code both ways, and the retry counts."""
    send = "< RC_SEND_ONLY qpn=0x11 psn=100 payload=8 ackreq"
    script = Script(directory, "rnr_responder", "the responder's RNR NAK, all timer codes.",
                    ["mr 1 va=0x10000 len=4096 access=lrwa"])
    for code in range(32):
        script.case(f"min_rnr_timer_{code}", f"qp 0x11 rc dest=0x22 min_rnr={code}", send,
                    f"> RC_ACKNOWLEDGE qpn=0x22 psn=100 syndrome=rnr:{code} msn=0",
                    "counter out_of_buffer 1", "counter rnr_nak_sent 1", "state 0x11 RTS",
                    "post recv wr=10 sge=mr1+0:64", send,
                    "> RC_ACKNOWLEDGE qpn=0x22 psn=100 syndrome=ack msn=1", "cqe wr=10 op=RECV len=8")
    script.write()
    script = Script(directory, "rnr_requester", "the requester honours all timer codes within -0/+20 %.",
                    ["mr 1 va=0x10000 len=4096 access=lrwa"])
    for code, units in enumerate(RNR_10US):
        script.case(f"timer_{code}", "qp 0x11 rc sq_psn=200 dest=0x22 rnr_retry=1 timeout=20",
                    "post send wr=1 sge=mr1+0:8", "> RC_SEND_ONLY qpn=0x22 psn=200 payload=any",
                    f"< RC_ACKNOWLEDGE qpn=0x11 psn=200 syndrome=rnr:{code} msn=0", "no frame",
                    f"> after={units * 10}us..{units * 12}us RC_SEND_ONLY qpn=0x22 psn=200 payload=any",
                    "< RC_ACKNOWLEDGE qpn=0x11 psn=200 syndrome=ack msn=1", "cqe wr=1",
                    "counter rnr_nak_retry_err 1", "counter local_ack_timeout_err 0")
    for retries in range(7):
        script.case(f"rnr_retry_{retries}_means_{retries + 1}_tries",
                    f"qp 0x11 rc sq_psn=200 dest=0x22 rnr_retry={retries}", "post send wr=1 sge=mr1+0:8",
                    "> RC_SEND_ONLY qpn=0x22 psn=200 payload=any", f"repeat {retries}",
                    "< RC_ACKNOWLEDGE qpn=0x11 psn=200 syndrome=rnr:1 msn=0",
                    "> after=10us..12us RC_SEND_ONLY qpn=0x22 psn=200 payload=any", "end",
                    "< RC_ACKNOWLEDGE qpn=0x11 psn=200 syndrome=rnr:1 msn=0",
                    "cqe wr=1 status=RNR_RETRY_EXC_ERR verr=RNR", "state 0x11 ERR",
                    "counter req_rnr_retries_exceeded 1")
    script.case("rnr_retry_7_still_tries_after_60_s", "qp 0x11 rc sq_psn=200 dest=0x22 rnr_retry=7",
                "post send wr=1 sge=mr1+0:8", "> RC_SEND_ONLY qpn=0x22 psn=200 payload=any", "repeat 100",
                "< RC_ACKNOWLEDGE qpn=0x11 psn=200 syndrome=rnr:0 msn=0",
                "> after=655360us..786432us RC_SEND_ONLY qpn=0x22 psn=200 payload=any", "end",
                "state 0x11 RTS", "< RC_ACKNOWLEDGE qpn=0x11 psn=200 syndrome=ack msn=1", "cqe wr=1")
    script.case("rnr_nak_acknowledges_what_is_before_it", "qp 0x11 rc sq_psn=200 dest=0x22",
                "post write wr=1 to=1 rkey=2 sge=mr1+0:8", "post send wr=2 sge=mr1+0:8",
                "> RC_RDMA_WRITE_ONLY qpn=0x22 psn=200 payload=any", "> RC_SEND_ONLY qpn=0x22 psn=201 payload=any",
                "< RC_ACKNOWLEDGE qpn=0x11 psn=201 syndrome=rnr:5 msn=1", "cqe wr=1 op=WRITE",
                "> after=60us..72us RC_SEND_ONLY qpn=0x22 psn=201 payload=any",
                "< RC_ACKNOWLEDGE qpn=0x11 psn=201 syndrome=ack msn=2", "cqe wr=2 op=SEND")
    script.write()


def timeouts(directory):
    """C9-140: local ACK timeout and retry count."""
    script = Script(directory, "ack_timeout", "C9-140: the first retry comes inside [T_tr, 4 T_tr].",
                    ["mr 1 va=0x10000 len=4096 access=lrwa"])
    write = "> RC_RDMA_WRITE_ONLY qpn=0x22 psn=200 payload=any ackreq"
    for code in range(1, 32):
        t_tr = 4096 << code
        script.case(f"timeout_{code}", f"qp 0x11 rc sq_psn=200 dest=0x22 timeout={code} retry=1",
                    "post write wr=1 to=1 rkey=2 sge=mr1+0:8", write,
                    f"> after={t_tr}ns..{4 * t_tr}ns" + write[1:],
                    "< RC_ACKNOWLEDGE qpn=0x11 psn=200 syndrome=ack msn=1", "cqe wr=1",
                    "counter local_ack_timeout_err 1", "qpcounter 0x11 timeouts 1", "counter retransmits 1")
    script.case("timeout_0_never_retries", "qp 0x11 rc sq_psn=200 dest=0x22 timeout=0 retry=1",
                "post write wr=1 to=1 rkey=2 sge=mr1+0:8", write, "at +100000s", "no frame", "no cqe", "state 0x11 RTS")
    script.case("ack_restarts_the_timer", "qp 0x11 rc sq_psn=200 dest=0x22 timeout=14 retry=1",
                "post write wr=1 to=1 rkey=2 sge=mr1+0:8", "post write wr=2 to=1 rkey=2 sge=mr1+0:8", write,
                write.replace("200", "201"), "at +60ms", "< RC_ACKNOWLEDGE qpn=0x11 psn=200 syndrome=ack msn=1", "cqe wr=1",
                "> after=67ms..269ms" + write[1:].replace("200", "201"),
                "< RC_ACKNOWLEDGE qpn=0x11 psn=201 syndrome=ack msn=2", "cqe wr=2")
    script.case("no_timer_runs_when_all_is_acknowledged", "qp 0x11 rc sq_psn=200 dest=0x22 timeout=14 retry=1",
                "post write wr=1 to=1 rkey=2 sge=mr1+0:8", write,
                "< RC_ACKNOWLEDGE qpn=0x11 psn=200 syndrome=ack msn=1", "cqe wr=1", "at +100s", "no frame",
                "counter local_ack_timeout_err 0")
    script.write()
    script = Script(directory, "retry_exhaustion", "RETRY_EXC_ERR after exactly retry_cnt + 1 sends.",
                    ["mr 1 va=0x10000 len=4096 access=lrwa"])
    t_tr = 4096 << 8
    for retries in range(8):
        window = f"after={t_tr}ns..{4 * t_tr}ns"
        script.case(f"retry_cnt_{retries}_means_{retries + 1}_sends",
                    f"qp 0x11 rc sq_psn=200 dest=0x22 timeout=8 retry={retries}",
                    "post write wr=1 to=1 rkey=2 sge=mr1+0:8", "post write wr=2 to=1 rkey=2 sge=mr1+0:8", write,
                    write.replace("200", "201"), f"repeat {retries}", f"> {window}{write[1:]}",
                    write.replace("200", "201"), "end", f"cqe wr=1 status=RETRY_EXC_ERR verr=TIMEOUT {window}",
                    "cqe wr=2 status=WR_FLUSH_ERR", "no frame", "state 0x11 ERR",
                    "counter req_transport_retries_exceeded 1", f"counter local_ack_timeout_err {retries + 1}",
                    "at +10s", "no frame")
        script.case(f"read_retry_cnt_{retries}", f"qp 0x11 rc sq_psn=200 dest=0x22 timeout=8 retry={retries}",
                    "post read wr=1 to=1 rkey=2 sge=mr1+0:8",
                    "> RC_RDMA_READ_REQUEST qpn=0x22 psn=200 va=1 rkey=2 len=8", f"repeat {retries}",
                    f"> {window} RC_RDMA_READ_REQUEST qpn=0x22 psn=200 va=1 rkey=2 len=8", "end",
                    f"cqe wr=1 status=RETRY_EXC_ERR {window}", "no frame", "state 0x11 ERR")
    script.write()


def icrc_bits(directory):
    """Each frame with one flipped bit after the Ethernet header is dropped, except in masked
    fields."""
    script = Script(directory, "icrc_every_bit", "every single-bit flip of a frame.", [
        "mr 1 va=0x10000 len=4096 access=lrwa", "qp 0x11 rc mtu=1024 rq_psn=100 sq_psn=200 dest=0x22"])
    # Bytes: 14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 16 RETH, 8 payload, 4 ICRC. Left out: fields that
    # the ICRC masks (TOS, TTL, IP and UDP checksum, BTH byte 4), and fields that make it no RoCE
    # frame (version, lengths, fragments, protocol, ports).
    masked = {15, 22, 24, 25, 40, 41, 46} | {14, 16, 17, 20, 21, 23} | {36, 37, 38, 39}
    lines = []
    count = 0
    for offset in range(14, 82):
        if offset in masked:
            continue
        for bit in range(8):
            lines.append(f"<[flip={offset}:{1 << bit:#x} fixip] RC_RDMA_WRITE_ONLY qpn=0x11 psn=100 va=mr1 rkey=mr1 "
                         "len=8 payload=pattern:8 ackreq")
            count += 1
    # Seven flips are dropped for other reasons: three give an unknown opcode, four another
    # transport version.
    script.case("each_flip_is_dropped_and_counted", *lines, "no frame", f"counter rx_icrc_encapsulated {count - 7}",
                "counter rx_drop_opcode 3", "counter rx_drop_malformed 4", "mem mr1+0 zero:64", "state 0x11 RTS")
    script.write()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    for family in (opcode_pairs, lengths, segmentation, rnr, timeouts, icrc_bits):
        family(directory)


if __name__ == "__main__":
    main()
