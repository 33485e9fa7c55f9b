# SPDX-License-Identifier: BSD-2-Clause
# Other memory than the host's. GPUs are simulated by fake drivers and a library that registers the
# memory that they export. Sourced by suite.sh.
build_preset release fake_cuda fake_hip fake_hsa dmabuf_as_host >>"$logs/build.log" 2>&1 ||
    { fail 'fake GPU drivers' "did not build: $(tail -n 2 "$logs/build.log" | tr '\n' ' ')"; exit 1; }
gpu="LD_LIBRARY_PATH=$PWD/build/fake-gpu LD_PRELOAD=\$LD_PRELOAD:$PWD/build/fake-gpu/libdmabuf-as-host.so"
for kind in cuda hip; do
    [ $kind = cuda ] && offset=512 || offset=12800
    for o in 0 1; do
        pair "coyote8 --mem $kind -o $o" "$gpu $coyote8 -o $o -X 65536 -r 3 --mem $kind" "$gpu $coyote8 -i A -o $o -X 65536 -r 3 --mem $kind" \
            'Size: +65536;' 18488
    done
    pair "write-bw --verify --mem $kind" "$gpu $bench write-bw -F -n 200 --verify --mem $kind" "$gpu $bench write-bw -F -n 200 --verify --mem $kind A 2>&1" "at offset $offset as"
done
single 'a memory kind without its driver says so' alpha "! FAKE_CUDA=no-gpu LD_LIBRARY_PATH=$PWD/build/fake-gpu $coyote8 --mem cuda 2>&1" 'finds no GPU'
pair 'coyote8 --mem dm: memory of both cards' "$coyote8 -o 1 -X 65536 -r 3 --mem dm" "$coyote8 -i A -o 1 -X 65536 -r 3 --mem dm" 'Size: +65536;' 18488
pair 'write-bw --verify --mem dm' "$bench write-bw -F -n 200 --verify --mem dm" "$bench write-bw -F -n 200 --verify --mem dm A 2>&1" 'verified: 200 messages, 13107200 bytes, 0 wrong'
single 'more device memory than a card has' alpha "! $coyote8 -X 67108864 --mem dm 2>&1" 'has 16777216 in all'
pages=$(cat /proc/sys/vm/nr_hugepages)
if [ "$(id -u)" = 0 ] && echo $((pages + 8)) 2>/dev/null >/proc/sys/vm/nr_hugepages && [ "$(cat /proc/sys/vm/nr_hugepages)" -ge $((pages + 8)) ]; then
    pair 'coyote8 --mem huge' "$coyote8 -o 1 -X 65536 -r 3 --mem huge" "$coyote8 -i A -o 1 -X 65536 -r 3 --mem huge" 'Size: +65536;' 18488
else
    skip 'coyote8 --mem huge' 'this machine gives no huge pages'
fi
echo "$pages" 2>/dev/null >/proc/sys/vm/nr_hugepages || true
