# SPDX-License-Identifier: BSD-2-Clause
# docs/dlrm.md on an NVIDIA GPU: preprocessed click records arrive in its memory, and PyTorch trains
# with them. Run by scripts/gpu.sh.
# shellcheck disable=SC2154  # lib.sh's variables
build_preset release dingo-criteo dlrm-storage dlrm-check dlrm_feed >>"$logs/build.log" 2>&1 || { fail 'build' "$(tail -n 2 "$logs/build.log" | tr '\n' ' ')"; exit 1; }
storage=$dingo_root/build/bin/dlrm-storage check=$dingo_root/build/bin/dlrm-check
records=$logs/clicks.rec sizes=1,7,129,64,1000
"$dingo_root/build/bin/dingo-criteo" generate -n 5000 -f records "$records" 2>/dev/null
start_card alpha --own-process
start_card beta --own-process
limit=300
# from_storage NAME TRAINER: case: TRAINER on alpha and a storage process on beta, 200 batches.
from_storage() { pair "$1" "$2" "$storage $records A -b $sizes -n 200 --retry 120" '' 18490; }
from_storage "dlrm: every word of every batch in the GPU's memory" "$check $records -m 1009 -b $sizes -n 200 --mem cuda:0"
pair "dlrm: out of the GPU's memory, too" "$check $records -m 1009 -b $sizes -n 200 --mem cuda:0" \
    "$storage $records A -b $sizes -n 200 --mem cuda:0" '' 18490
pair 'dlrm: 10,000 batches' "$check $records -m 1009 -b 1,3,64,31 -n 10000 --mem cuda:0" "$storage $records A -b 1,3,64,31 -n 10000" '' 18490
pair 'dlrm: storage is killed and comes back' "$check $records -m 1009 -b $sizes -n 300 --mem cuda:0" \
    "for at in 0 1 17 299; do $storage $records A -b $sizes -n 300 --die-at \$at; [ \$? = 137 ] || exit 9; done; $storage $records A -b $sizes -n 300" '' 18490
# Other libraries that use the GPU's memory in the same program.
for library in 'cupy cupy' 'jax jax.numpy'; do
    # shellcheck disable=SC2086
    set -- $library
    if python3 -c "import $1" 2>/dev/null; then
        single "$1 beside a card" alpha "XLA_PYTHON_CLIENT_PREALLOCATE=false python3 -c 'import $2 as np; print(int(np.arange(10).sum()))'" '^45$'
    else
        skip "$1 beside a card" "no $1 here"
    fi
done
if python3 -c 'import torch, numpy' 2>/dev/null; then
    # Makes cuBLAS deterministic: fixes the order of sums in matrix products.
    export CUBLAS_WORKSPACE_CONFIG=:4096:8
    train="python3 $dingo_root/examples/dlrm/train.py $records -b $sizes --mem cuda:0"
    plain 'dlrm: training on the GPU, preprocessed by numpy' "$train -n 200 --losses $logs/losses.cpu" '^200 batches; loss'
    from_storage 'dlrm: training on the GPU from the card' "$train --feed --losses $logs/losses.card"
    plain 'dlrm: the losses are equal bit for bit' "wc -l <$logs/losses.card && cmp $logs/losses.cpu $logs/losses.card" '^200$'
    pair 'dlrm: a batch is released when the kernels that read it have finished' \
        "python3 $dingo_root/tests/gpu/dlrm_release.py $records -b $sizes -n 60 2>&1" "$storage $records A -b $sizes -n 60 --retry 120" '' 18490
else
    skip 'dlrm: training on the GPU' 'no PyTorch here'
fi
limit=60
