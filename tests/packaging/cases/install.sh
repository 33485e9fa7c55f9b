# SPDX-License-Identifier: BSD-2-Clause
# `cmake --install` installs all or nothing, for any prefix, without references to the build tree;
# `uninstall` removes everything.
. tests/packaging/lib.sh
tuple=$(gcc -print-multiarch)
manifests() { rm -f build/install_manifest*.txt; }
# Set aside manifests of a user's installations from this tree, as `uninstall` removes all files
# that they name.
manifests

plain 'a tree that is not built installs nothing, and the message says what to build' \
    "cmake --preset release -B $logs/unbuilt -DDINGO_RTL=OFF -DDINGO_TESTS=OFF && ! cmake --install $logs/unbuilt --prefix $logs/nothing && ! [ -e $logs/nothing ]" \
    '^ +cmake --build .* --target programs'
manifests
plain 'cmake --install after the target `programs`' "DESTDIR=$logs/debian cmake --install build --prefix /usr" 'usr/bin/rdma-bench'
usr=$logs/debian/usr
plain "the provider is where Debian's libibverbs looks" "cd $usr/.. && readlink -e usr/lib/$tuple/libibverbs/libdingo-rdmav34.so && cat etc/libibverbs.d/dingo.driver" '^driver dingo$'
plain "that directory is libibverbs's own" "ls -d /usr/lib/$tuple/libibverbs && strings -a /usr/lib/$tuple/libibverbs.so.1 2>/dev/null || grep -a /usr/lib/$tuple/libibverbs /usr/lib/$tuple/libibverbs.so.1" "/usr/lib/$tuple/libibverbs"
plain "qpxd's unit starts the program that was installed" "cat $usr/lib/systemd/system/qpxd.service" '^ExecStart=/usr/bin/qpxd'
plain 'the licences are there' "ls $usr/share/doc/dingo" 'BSD-2-Clause'
plain 'every program has a man page' "cat <<<'$(unexplained "$usr")'; [ -z '$(unexplained "$usr")' ]"
for program in dingo dingo-card dingo-criteo gpu_interchange local_transfer p2p_cards p2p_file rdma-bench qpxd; do
    plain "completion of $program for bash loads" "bash -c 'source $usr/share/bash-completion/completions/$program && complete -p $program'" "_${program/-/_}"
    plain "completion of $program for zsh and fish is there" "ls $usr/share/zsh/site-functions/_$program $usr/share/fish/vendor_completions.d/$program.fish"
done
plain 'uninstall leaves no file' "DESTDIR=$logs/debian cmake --build build --target uninstall && ! find $logs/debian -type f -o -type l | grep ." 'Removing .*/usr/bin/dingo$'
plain 'uninstall twice: a sentence' '! cmake --build build --target uninstall' 'Nothing to remove: '

manifests
plain 'prefix /usr/local: libibverbs reads the driver file in /etc, which says where the provider is' \
    "DESTDIR=$logs/local cmake --install build --prefix /usr/local && cat $logs/local/etc/libibverbs.d/dingo.driver" "^driver /usr/local/lib/$tuple/libibverbs/libdingo\$"
plain 'prefix /usr/local: the unit' "cat $logs/local/usr/local/lib/systemd/system/qpxd.service" '^ExecStart=/usr/local/bin/qpxd'

manifests
home=$logs/home
plain 'component native, to a directory of one user' "cmake --install build --component native --prefix $home && ! [ -e $home/bin/rdma-bench ]" 'libibverbs reads /etc/libibverbs.d'
plain 'all of it' "cmake --install build --prefix $home" 'bin/rdma-bench'
plain 'nothing that is installed has an RPATH of the build tree or of the current directory' "[ -z '$(foreign_rpaths "$home")' ] || { echo '$(foreign_rpaths "$home")'; false; }"
# Compare only programs that are installed, not test programs.
mapfile -t same < <(cd "$home/bin" && printf 'build/bin/%s\n' *)
strange=$(foreign_rpaths "${same[@]}" build/lib)
plain 'nor have the same programs in the build tree' "[ -z '$strange' ] || { echo '$strange'; false; }"
mkdir -p "$logs/elsewhere"
echo nonsense >"$logs/elsewhere/libibverbs.so.1"
for file in "$home/lib/$tuple/libdingo.so.1" "$home/bin/rdma-bench" "$home/bin/local_transfer" build/lib/libdingo.so.1 build/bin/rdma-bench; do
    plain "a false libibverbs in the current directory is not taken: ${file#"$logs"/}" "file=\$(realpath $file); cd $logs/elsewhere && ldd \$file" "libibverbs.so.1 => /(usr/)?lib/"
done
dingo=$home/bin/dingo
start_card alpha
single 'the installed card, provider and preload library work' alpha ibv_devinfo 'PORT_ACTIVE'
single 'local_transfer finds its library below any prefix' alpha "$home/bin/local_transfer -k add_one -X 4096 -r 2"
$dingo card stop --all >/dev/null
dingo=$dingo_root/build/bin/dingo
plain 'uninstall takes both installations away' "cmake --build build --target uninstall && ! find $home -type f -o -type l | grep ."
manifests
