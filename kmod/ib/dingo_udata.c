// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Driver data of uverbs commands, by the rules of dingo-abi.h: unknown request
 * bytes must be zero; a response is truncated or zero-padded to the size of the
 * provider's buffer.
 */
#include <linux/uaccess.h>

#include "dingo_ib.h"

/**
 * dingo_udata_in() - fetch a request
 * @udata: the command's driver data
 * @req: the result, in the format of version 1 of the ABI
 * @size: its bytes
 *
 * Return: 0, -EINVAL if the request is shorter, -EOPNOTSUPP if bytes beyond it
 * are not zero, -EFAULT.
 */
int dingo_udata_in(struct ib_udata *udata, void *req, size_t size)
{
	int err;

	if (udata->inlen < size)
		return -EINVAL;
	err = copy_struct_from_user(req, size, udata->inbuf, udata->inlen);
	return err == -E2BIG ? -EOPNOTSUPP : err;
}

/**
 * dingo_udata_none() - check that a command has no request data
 * @udata: the command's driver data; NULL: called by the kernel
 *
 * Return: 0 or -EOPNOTSUPP.
 */
int dingo_udata_none(struct ib_udata *udata)
{
	if (udata && udata->inlen &&
	    !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EOPNOTSUPP;
	return 0;
}

/**
 * dingo_udata_out() - copy the response of a command
 * @udata: the command's driver data
 * @resp: the response
 * @size: its bytes
 *
 * Return: 0 or -EFAULT.
 */
int dingo_udata_out(struct ib_udata *udata, const void *resp, size_t size)
{
	size_t len = min(size, udata->outlen);

	if (copy_to_user(udata->outbuf, resp, len))
		return -EFAULT;
	if (len < udata->outlen &&
	    clear_user(udata->outbuf + len, udata->outlen - len))
		return -EFAULT;
	return 0;
}
