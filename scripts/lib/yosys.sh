# SPDX-License-Identifier: BSD-2-Clause
# Runs trixie's Yosys, with ABC and the SMT solvers of yosys-smtbmc, on this host by its own dynamic
# linker: it needs no chroot and sees this host's paths. Sourced after common.sh.

# yosys_root: prints the directory of the extracted packages; its run/ can be added to PATH.
yosys_root() {
    need_packages mmdebstrap debian-archive-keyring gpgv python3
    cached yosys "v1 $(declare -f build_yosys_root yosys_command_script yosys_python_script)" build_yosys_root
}

build_yosys_root() {
    local out=$1 acquire command opts=()
    while read -r acquire; do opts+=("--aptopt=$acquire"); done < <(apt_acquire_options)
    # Extracted, not installed: nothing in it runs but the commands below.
    trixie_sources | sed '/deb-src/s/ deb-src//' |
        mmdebstrap --mode=root --variant=extract --format=directory "${opts[@]}" \
            --include='yosys,z3,cvc5' \
            --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
            trixie "$out" -
    # Yosys looks for yosys-abc and ../share relative to /proc/self/exe, which is the dynamic
    # linker.
    mkdir "$out/run"
    cp "$out/usr/lib64/ld-linux-x86-64.so.2" "$out/run/ld.so"
    ln -s usr/share "$out/share"
    for command in yosys yosys-abc z3 cvc5; do
        yosys_command_script "$command" >"$out/run/$command"
    done
    for command in yosys-smtbmc yosys-witness; do
        yosys_python_script "$command" >"$out/run/$command"
    done
    chmod 755 "$out"/run/*
    prove_yosys "$out"
}

# yosys_command_script COMMAND: prints a script that runs COMMAND of the root in which the script
# lies.
yosys_command_script() {
    cat <<EOS
#!/bin/sh
root=\${0%/run/*}
exec "\$root/run/ld.so" --argv0 $1 --library-path "\$root/usr/lib/x86_64-linux-gnu" \\
    "\$root/usr/bin/$1" "\$@"
EOS
}

# yosys_python_script COMMAND: the same for a Python program, which the host's Python runs.
yosys_python_script() {
    cat <<EOS
#!/bin/sh
root=\${0%/run/*}
export PATH="\$root/run:\$PATH" PYTHONPATH="\$root/usr/share/yosys"
exec python3 "\$root/usr/bin/$1" "\$@"
EOS
}

# prove_yosys ROOT: succeeds if synthesis with ABC works, and with each solver a true property
# passes and a false one fails. (Without chformal -lower, write_smt2 drops asserts.)
prove_yosys() {
    local root=$1 dir solver limit
    dir=$(mktemp -d)
    cat >"$dir/t.sv" <<'EOS'
module t(input logic clk, input logic [3:0] a, output logic [3:0] q);
  initial q = 4'd0;
  always_ff @(posedge clk) if (q < 4'd9) q <= q + {3'd0, ^a};
  always_comb assert (q <= 4'd`LIMIT);
endmodule
EOS
    "$root/run/yosys" -q -p "read_verilog -sv -DLIMIT=9 $dir/t.sv; synth_xilinx -top t" || return
    for limit in 9 8; do
        "$root/run/yosys" -q -p "read_verilog -sv -formal -DLIMIT=$limit $dir/t.sv; prep -top t
            async2sync; chformal -lower; write_smt2 -wires $dir/$limit.smt2" || return
    done
    for solver in z3 cvc5; do
        "$root/run/yosys-smtbmc" -s "$solver" -t 12 "$dir/9.smt2" || return
        ! "$root/run/yosys-smtbmc" -s "$solver" -t 12 "$dir/8.smt2" || return
    done
    rm -r "$dir"
}

# run_yosys ARG...: runs Yosys, for example `run_yosys -q -p 'read_verilog -sv a.sv; synth -top a'`.
run_yosys() {
    local root
    root=$(yosys_root) || exit 125
    "$root/run/yosys" "$@"
}

# run_smtbmc ARG...: runs yosys-smtbmc, for example `run_smtbmc -s z3 -t 20 a.smt2`.
run_smtbmc() {
    local root
    root=$(yosys_root) || exit 125
    "$root/run/yosys-smtbmc" "$@"
}
