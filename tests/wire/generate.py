#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the packet scripts that have one case for each value of something. usage: generate.py DIRECTORY"""
import os
import sys


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)


if __name__ == "__main__":
    main()
