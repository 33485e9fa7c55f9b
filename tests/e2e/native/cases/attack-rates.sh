# SPDX-License-Identifier: BSD-2-Clause
# What a client loses by attacks on its card. Rates: what else the machine does counts.
. tests/e2e/native/attack_cases.sh
program 'beside an attack:' /usr/bin/python3 tests/e2e/native/attacks.py --turns 3 --window 200
