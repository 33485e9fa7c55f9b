# SPDX-License-Identifier: BSD-2-Clause
# Measures what a client loses by attacks on its card. These are rates, which other load disturbs.
. tests/e2e/native/attack_cases.sh
program 'beside an attack:' /usr/bin/python3 tests/e2e/native/attacks.py --turns 3 --window 200
