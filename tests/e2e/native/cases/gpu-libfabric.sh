# SPDX-License-Identifier: BSD-2-Clause
# libfabric with CUDA: from GPU memory to GPU memory over the verbs provider. Debian builds
# libfabric without CUDA: $DINGO_FABTESTS is a folder with its fabtests, built with --with-cuda. Run
# by scripts/gpu.sh.
# shellcheck disable=SC2154  # lib.sh's variables
programs=${DINGO_FABTESTS:-}
if [ ! -x "$programs/fi_rma_bw" ]; then
    skip "libfabric's fabtests" 'needs its programs (DINGO_FABTESTS=folder with fi_rma_bw and others)'
    return 0
fi
start_card alpha --own-process --ip 10.77.0.1/24
start_card beta --own-process --ip 10.77.0.2/24
# shellcheck source=tests/e2e/native/cm_lib.sh
. tests/e2e/native/cm_lib.sh
limit=60
# -v compares every byte; -R registers memory by DMABuf.
for memory in '-D cuda' '-D cuda -R'; do
    for test in 'fi_msg_bw -e msg -p verbs -S 65536 -I 500' 'fi_msg_pingpong -e msg -p verbs -S 8 -I 500' \
        'fi_rdm_tagged_bw -p verbs\;ofi_rxm -S 1048576 -I 200' 'fi_rdm_tagged_pingpong -p verbs\;ofi_rxm -S all -I 50' \
        'fi_rma_bw -e rdm -p verbs\;ofi_rxm -o write -S 1048576 -I 200' 'fi_rma_bw -e rdm -p verbs\;ofi_rxm -o read -S 1048576 -I 200' \
        'fi_rma_bw -e rdm -p verbs\;ofi_rxm -o writedata -S 65536 -I 200'; do
        cm_pair "$test $memory, every byte" "$programs/$test $memory -v -s 10.77.0.1" "$programs/$test $memory -v -s 10.77.0.2 10.77.0.1" '^[0-9]+[km]? +[0-9]+'
    done
done
limit=60
