# SPDX-License-Identifier: BSD-2-Clause
# Reports the output of verbs_promises as cases of the suite that ran it. Sourced by suites on
# kernel-less cards and in guests.

# promises OUTPUT ALLOWED: reports each promise as a case; a skip whose reason does not match the
# regular expression ALLOWED is a failure.
promises() {
    local line count=0
    while IFS= read -r line; do
        case $line in
            'PASS '*) pass "${line#PASS }" ;;
            'SKIP '*)
                if grep -qE "$2" <<<"$line"; then
                    echo "SKIP $suite:${line#SKIP }"
                else
                    fail "${line#SKIP }" 'skipped, but this device should keep it'
                fi ;;
            'FAIL '*)
                echo "FAIL $suite:${line#FAIL }"
                failed=$((failed + 1)) ;;
            *) continue ;;
        esac
        count=$((count + 1))
    done <"$1"
    [ $count -ge 300 ] || fail 'verbs_promises has come to its end' "$count promises: $(tail -n 2 "$1" | tr '\n' ' ')"
}
