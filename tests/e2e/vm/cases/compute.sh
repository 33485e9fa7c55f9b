# SPDX-License-Identifier: BSD-2-Clause
# The compute slot through the kernel driver, by the driver data of modify_qp and query_device.
if install_program local_transfer; then
    single 'compute: the kernels are listed' A 'local_transfer --list' 'dlrm +record of 192 bytes, parameter 1 to 4294967295'
    for transform in pass add_one dlrm 'dlrm --param 1000'; do
        single "compute: local transfer through $transform" A "local_transfer -r 5 -X 1048576 --kernel $transform" '^Every word .* right'
    done
    single 'compute: received through dlrm' A 'local_transfer -r 5 -X 1048576 --kernel dlrm --side receive' '^Every word .* right'
    single 'compute: a modulus of 0 is refused' A '! local_transfer -k dlrm -p 0' 'dingodv_set_compute: Invalid argument'
fi
