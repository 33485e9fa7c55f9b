# SPDX-License-Identifier: BSD-2-Clause
# Clients that start, attack and are killed in random order, by a seed.
. tests/e2e/native/attack_cases.sh
program 'clients by a seed:' /usr/bin/python3 tests/e2e/native/clients.py --seeds 3 --seconds 8
program 'holes punched in memory in use:' env DINGO_DIRECT=0 /usr/bin/python3 tests/e2e/native/punches.py
