// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A libamdhip64.so without HIP's functions. */
int dingo_empty_hip(void);
int dingo_empty_hip(void)
{
	return 0;
}
