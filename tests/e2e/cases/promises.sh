# SPDX-License-Identifier: BSD-2-Clause
# What verbs_promises printed, as cases of the suite that has run it. Sourced by the suites on cards and in guests.

# promises OUTPUT ALLOWED: each promise is a case; one that is skipped for a reason that is not like ALLOWED has failed.
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
