# SPDX-License-Identifier: BSD-2-Clause
# The pipeline of docs/dlrm.md: a storage process writes click records into a trainer's two buffers,
# and the trainer's card preprocesses them. Compares every word with the CPU's result, and with
# PyTorch the losses.
# shellcheck disable=SC2154  # lib.sh's variables
criteo=$dingo_root/build/bin/dingo-criteo storage=$dingo_root/build/bin/dlrm-storage check=$dingo_root/build/bin/dlrm-check
records=$logs/clicks.rec sizes=1,7,129,64,1000
"$criteo" generate -n 5000 -f records "$records" 2>/dev/null
start_card alpha
start_card beta

# stream NAME TRAINER STORAGE [REGEX]: case: TRAINER on alpha, STORAGE, which writes to it, on
# $sender; the trainer must print a line like REGEX.
sender=beta
stream() {
    local name=$1 dir pid rc_a=0 rc_b=0
    dir=$logs/$(slug "$name")
    on alpha "$2" >"$dir.A" 2>&1 &
    pid=$!
    wait_listen 18490 $pid || true
    on $sender "$3" >"$dir.B" 2>&1 || rc_b=$?
    wait $pid || rc_a=$?
    if [ "$rc_a $rc_b" != '0 0' ]; then fail "$name" "status A $rc_a B $rc_b: $(why "$dir.A") | $(why "$dir.B")"
    elif ! grep -qE "${4:-every word right}" "$dir.A"; then fail "$name" "no line like /${4:-every word right}/: $(why "$dir.A")"
    else pass "$name"; fi
}

for modulus in 1 1009 65536 2147483648; do
    stream "dlrm: batches that land are preprocessed, modulus $modulus" "$check $records -m $modulus -b $sizes -n 100" "$storage $records 127.0.0.1 -b $sizes -n 100"
done
stream 'dlrm: the sender preprocesses' "$check $records -m 1009 --sender -b $sizes -n 100" "$storage $records 127.0.0.1 -m 1009 -b $sizes -n 100"
stream 'dlrm: a batch is the whole file' "$check $records -m 1009 -b 5000 -n 20" "$storage $records 127.0.0.1 -b 5000 -n 20"
stream 'dlrm: nothing at all' "$check $records -m 1009 -n 0" "$storage $records 127.0.0.1 -n 0" 'batches 0 to 0, 0 records'
limit=300
stream 'dlrm: 10,000 batches' "$check $records -m 1009 -b 1,3,64,31 -n 10000" "$storage $records 127.0.0.1 -b 1,3,64,31 -n 10000" 'batches 0 to 10000,'
limit=60
stream 'dlrm: tensors in plain Python' "/usr/bin/python3 $PWD/tests/e2e/native/dlrm_feed.py $records 30 1,7,33 1009" "$storage $records 127.0.0.1 -b 1,7,33 -n 30" '^30 batches: every word right'

# A simulated GPU, as in rdma-bench's suite: a driver over host memory, and a library that registers
# the memory that the driver exports.
gpu="LD_LIBRARY_PATH=$PWD/build/fake-gpu LD_PRELOAD=\$LD_PRELOAD:$PWD/build/fake-gpu/libdmabuf-as-host.so"
stream "dlrm: batches land in a fake GPU's memory" "$gpu $check $records -m 1009 -b $sizes -n 100 --mem cuda:1" "$storage $records 127.0.0.1 -b $sizes -n 100"
stream "dlrm: and come from one" "$check $records -m 1009 -b $sizes -n 100" "$gpu $storage $records 127.0.0.1 -b $sizes -n 100 --mem cuda:0"

stream 'dlrm: a batch is released when the GPU has finished' \
    "$gpu /usr/bin/python3 $PWD/tests/e2e/native/dlrm_release.py" "$storage $records 127.0.0.1 -b 8 -n 5" 'released behind the work'

# A storage process is killed in the middle of a batch; the next one continues there.
stream 'dlrm: storage is killed and comes back' "$check $records -m 1009 -b $sizes -n 300" \
    "for at in 0 1 2 17 100 299; do $storage $records 127.0.0.1 -b $sizes -n 300 --die-at \$at; [ \$? = 137 ] || exit 9; done; $storage $records 127.0.0.1 -b $sizes -n 300" \
    'batches 0 to 300, .* 7 sessions: every word right'
stream 'dlrm: the trainer goes on behind a checkpoint' \
    "$check $records -m 1009 -b $sizes -n 300 --stop 50 && $check $records -m 1009 -b $sizes -n 300 --first 40 --stop 120 && $check $records -m 1009 -b $sizes -n 300 --first 120" \
    "$storage $records 127.0.0.1 -b $sizes -n 300" 'batches 120 to 300, '

# Mismatches are reported on both sides.
plain 'dlrm: a batch larger than the buffers' "timeout 20 $dingo run --card alpha -- $check $records -m 9 -b 10 -n 1 --timeout 10000 >$logs/small.A 2>&1 & p=\$!
    timeout 20 $dingo run --card beta -- $storage $records 127.0.0.1 -b 11 -n 1 >$logs/small.B 2>&1; wait \$p; cat $logs/small.A" 'trainer: .*up to 11 records'
plain 'dlrm: and the storage process says it, too' "cat $logs/small.B" 'dlrm-storage: .*up to 11 records'
plain 'dlrm: both sides preprocess' "timeout 20 $dingo run --card alpha -- $check $records -m 9 -b 10 -n 1 --timeout 10000 >$logs/both.A 2>&1 & p=\$!
    timeout 20 $dingo run --card beta -- $storage $records 127.0.0.1 -m 9 -b 10 -n 1 >$logs/both.B 2>&1; wait \$p; cat $logs/both.A" 'trainer: .*cards of both sides preprocess'
plain 'dlrm: and the storage process says that, too' "cat $logs/both.B" 'dlrm-storage: .*cards of both sides preprocess'
single 'dlrm: a modulus that no int32 tensor holds' beta "$storage $records 127.0.0.1 -m 2147483649 -n 1 2>&1; [ \$? = 2 ]" '2147483648'
single 'dlrm: no whole records' beta "head -c 100 $records >$logs/cut.rec; ! $storage $logs/cut.rec 127.0.0.1 -n 1 2>&1" '100 bytes are no whole records'
single 'dlrm: nobody trains' beta "! $storage $records 127.0.0.1 -n 1 --retry 1 2>&1" 'nobody listens'

# Cards of one process pass payloads by reference where possible, cards of two processes never.
start_card apart --own-process
sender=apart
stream 'dlrm: cards of two processes' "$check $records -m 1009 -b $sizes -n 200" "$storage $records 127.0.0.1 -b $sizes -n 200"

start_card lossy --faults drop=1%
sender=lossy
stream 'dlrm: 1 % of the packets are lost' "$check $records -m 1009 -b $sizes -n 200" "$storage $records 127.0.0.1 -b $sizes -n 200"
sender=beta

# The trainer's last acknowledgement is lost, and the trainer has exited when it would be repeated.
"$dingo" card stop alpha >>"$logs/cards.log" 2>&1
start_card alpha --own-process --faults 'drop:opcode=rc_ack'
stream 'dlrm: the last acknowledgement is lost' "$check $records -m 1009 -n 0" "$storage $records 127.0.0.1 -n 0" 'batches 0 to 0, 0 records'
"$dingo" card stop alpha >>"$logs/cards.log" 2>&1
start_card alpha

if /usr/bin/python3 -c 'import torch, numpy' 2>/dev/null; then
    train="/usr/bin/python3 $PWD/examples/dlrm/train.py $records -b $sizes"
    limit=300 # importing PyTorch takes long on a busy machine
    plain 'dlrm: training, preprocessed by numpy' "$train -n 200 --losses $logs/losses.cpu" '^200 batches; loss'
    stream 'dlrm: training from the card, killed storage' "$train --feed --losses $logs/losses.card" \
        "$storage $records 127.0.0.1 -b $sizes -n 200 --retry 120 --die-at 77; $storage $records 127.0.0.1 -b $sizes -n 200 --retry 120" '^200 batches; loss'
    plain 'dlrm: the losses are equal bit for bit' "wc -l <$logs/losses.card && cmp $logs/losses.cpu $logs/losses.card" '^200$'
else
    skip 'dlrm: training, losses equal bit for bit' 'no PyTorch here (python3-torch, python3-numpy)'
fi
