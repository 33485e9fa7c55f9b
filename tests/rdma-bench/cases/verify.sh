# SPDX-License-Identifier: BSD-2-Clause
# --verify: right data pass, wrong data fail. Sourced by suite.sh.
for options in 'write-bw -s 1,64,5000,65536 -q 1,3' 'read-bw -s 1,64,65536 -q 2' 'send-bw -s 1,64,5000 -q 2' 'atomic-bw -q 2' \
    'atomic-bw -A CMP_AND_SWAP' 'send-bw -c UD -s 64,4000 -q 2' 'send-bw -c UC' 'write-bw -c UC' 'write-bw -D 1' 'write-bw -s 8M -t 4' \
    'write-bw -t 1' 'send-bw -r 4' 'write-lat -s 1,2,64,5000' 'send-lat -s 1,2,64,5000' 'read-lat -s 1,5000' atomic-lat 'atomic-lat -A CMP_AND_SWAP' \
    'send-lat -c UD -s 64' 'write-lat -c UC' 'send-lat --use-srq' \
    'write-bw -b -s 1,5000 -q 3' 'read-bw -b -s 64,65536 -q 2' 'send-bw -b -s 1,64,65536 -q 2' 'atomic-bw -b -q 2' 'atomic-bw -b -A CMP_AND_SWAP' \
    'send-bw -b -c UD -s 64 -q 2' 'send-bw -b -c UC' 'write-bw -b -c UC' 'send-bw -b -D 1' \
    'write-bw -q 5 --threads 2' 'read-bw -q 3 --threads 3 -s 64,5000' 'send-bw -q 5 --threads 2 -s 1,4096' 'atomic-bw -q 4 --threads 2' \
    'send-bw -b -q 4 --threads 2' 'read-bw -b -q 4 --threads 2' \
    'send-bw --use-srq -q 4 -s 1,64,5000' 'send-bw --use-srq -q 1,6 -r 16' 'send-bw --use-srq -q 7 --threads 3' 'send-bw --use-srq -q 3 -r 2' \
    'send-bw --use-srq -b -q 6 --threads 2 -s 1,4096' 'send-bw --use-srq -c UD -s 64 -q 4' 'send-bw -e -b -q 2'; do
    count='-n 100'
    [[ $options != *-D* ]] || count=''
    lost=''
    [[ $options != *'-c U'* ]] || lost='(, [0-9]+ lost)?' # on a busy machine, messages may find no receive
    bench_pair "$options --verify: every byte right" "verified: [1-9][0-9]* messages, .* 0 wrong$lost\$" "$options --verify $count"
done

# A wire that drops, reorders and corrupts frames: RC still delivers the right data.
start_card gamma --wire shm:bad --faults 'drop=1%,reorder=1%,corrupt=0.5%'
start_card delta --wire shm:bad --faults 'drop=1%,reorder=1%,corrupt=0.5%'
server_card=gamma client_card=delta
for test in write-bw read-bw send-bw atomic-bw 'send-bw --use-srq -b -s 4096 -q 4 --threads 2'; do
    bench_pair "$test --verify on a bad wire" '0 wrong$' "$test --verify -n 200 -u 10"
done
bench_pair 'send-bw -c UD on a bad wire: what is lost is counted' 'lost: [1-9][0-9]* messages' 'send-bw -c UD -s 512 -n 2000'
server_card=alpha client_card=beta
