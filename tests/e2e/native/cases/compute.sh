# SPDX-License-Identifier: BSD-2-Clause
# The compute slot as applications use it: dingodv and the example local_transfer. Sourced by
# tools.sh and rtl.sh; $transfer holds other options for local_transfer.
local_transfer="$dingo_root/build/bin/local_transfer ${transfer:--r 5 -X 1000000}"
single 'compute: the kernels are listed' alpha "$local_transfer --list" 'dlrm +record of 192 bytes, parameter 1 to 4294967295'
for transform in pass add_one dlrm 'dlrm --param 1000'; do
    single "compute: local transfer through $transform" alpha "$local_transfer --kernel $transform" '^Every word .* right'
done
for transform in pass add_one dlrm; do
    single "compute: received through $transform" alpha "$local_transfer --side receive --kernel $transform" '^Every word .* right'
done
single 'compute: transfers that are no whole records' alpha "$local_transfer -k dlrm -x 77 -X 40000" '^Every word .* right'
single 'compute: what it prints' alpha "$local_transfer -x 4096 -X 4096" \
    '^Size: 4096; Average throughput: [0-9.]+ MB/s; Average latency: [0-9.]+ us$'
single 'compute: a modulus of 0 is refused' alpha "! $local_transfer -k dlrm -p 0" 'dingodv_set_compute: Invalid argument'
single 'compute: an unknown kernel is refused' alpha "! $local_transfer -k fft" "no kernel 'fft'"
