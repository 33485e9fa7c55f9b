# SPDX-License-Identifier: BSD-2-Clause
# Sourced by cases that look at an installation.

# foreign_rpaths PATH...: each ELF file there or below whose RPATH has an element that is not $ORIGIN and a way from there: an
# empty one is the current directory, an absolute one somebody else's.
foreign_rpaths() {
    local file path
    find "$@" -type f | while read -r file; do
        path=$(readelf -d "$file" 2>/dev/null | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]$/\2/p')
        [ -z "$path" ] || ! grep -qvE '^\$ORIGIN(/|$)' <<<"${path//:/$'\n'}" || echo "$file: $path"
    done
}

# unexplained DIRECTORY: programs in bin/ there without a man page.
unexplained() {
    local file
    for file in "$1"/bin/*; do
        compgen -G "$1/share/man/man1/$(basename "$file").1*" >/dev/null || echo "${file##*/}"
    done
}
