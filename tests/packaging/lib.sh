# SPDX-License-Identifier: BSD-2-Clause
# Checks of an installation. Sourced by cases.

# foreign_rpaths PATH...: prints each ELF file at or below PATH whose RPATH has an element that is
# not relative to $ORIGIN: an empty element means the current directory, an absolute one may belong
# to another user.
foreign_rpaths() {
    local file path
    find "$@" -type f | while read -r file; do
        path=$(readelf -d "$file" 2>/dev/null | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]$/\2/p')
        [ -z "$path" ] || ! grep -qvE '^\$ORIGIN(/|$)' <<<"${path//:/$'\n'}" || echo "$file: $path"
    done
}

# unexplained DIRECTORY: prints the programs in DIRECTORY/bin without a man page.
unexplained() {
    local file
    for file in "$1"/bin/*; do
        compgen -G "$1/share/man/man1/$(basename "$file").1*" >/dev/null || echo "${file##*/}"
    done
}
