// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// MORI's host code includes it; what is run of it takes nothing.
#pragma once
