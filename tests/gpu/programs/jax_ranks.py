#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""JAX in several processes over NCCL: sums, gathers and permutations of arrays that span all GPUs.

usage: RANK=r WORLD_SIZE=n tests/gpu/programs/jax_ranks.py PORT
"""
import os
import sys

import jax

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
jax.distributed.initialize(f"127.0.0.1:{sys.argv[1]}", ranks, rank, local_device_ids=[rank])

import jax.numpy as jnp  # noqa: E402  (after the processes are connected)
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

mesh = Mesh(np.array(jax.devices()), ("gpu",))
rows = NamedSharding(mesh, P("gpu"))
for count in (1, 1000, 1 << 20):
    whole = (np.arange(ranks * count) % 8191).astype(np.float32).reshape(ranks, count)
    array = jax.make_array_from_callback(whole.shape, rows, lambda at: whole[at])
    total = jax.jit(lambda a: a.sum(0), out_shardings=NamedSharding(mesh, P()))(array)
    np.testing.assert_array_equal(np.asarray(total.addressable_data(0)), whole.sum(0))
    turned = jax.jit(jax.shard_map(lambda a: jax.lax.ppermute(a, "gpu", [(i, (i + 1) % ranks) for i in range(ranks)]), mesh=mesh, in_specs=P("gpu"), out_specs=P("gpu")))(array)
    np.testing.assert_array_equal(np.asarray(turned.addressable_data(0))[0], whole[(rank - 1) % ranks])
    product = jax.jit(lambda a: a @ a.T, out_shardings=NamedSharding(mesh, P()))(array / 8191)
    np.testing.assert_allclose(np.asarray(product.addressable_data(0)), (whole / 8191) @ (whole / 8191).T, rtol=2e-2)
print(f"rank {rank}: JAX's arrays are right", flush=True)
