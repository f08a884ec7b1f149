#!/usr/bin/env bash
# Runs `make test` again and again, each time in a fresh clone, the last few of them beside
# processes that keep every core busy. A test that fails once in ten runs is found here.
#
#   scripts/steady.sh [RUNS] [BUSY]    default: 10 runs, of which 3 are disturbed
#
# Clones what is committed. Prints a line for each run and keeps the output of those that fail.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly RUNS="${1:-10}" BUSY="${2:-3}"
commit=$(git rev-parse --short HEAD)
folder=$(mktemp -d -t headrace-steady-XXXXXX)
loads=()
failed=0

release() {
    [ "${#loads[@]}" -eq 0 ] || kill "${loads[@]}" 2>/dev/null
    loads=()
}
trap release EXIT

for run in $(seq 1 "$RUNS"); do
    how="alone"
    if [ "$run" -gt $((RUNS - BUSY)) ]; then
        how="beside $(nproc) busy processes"
        for _ in $(seq 1 "$(nproc)"); do
            (while :; do :; done) &
            loads+=($!)
        done
    fi
    clone="$folder/$run"
    git clone --quiet . "$clone"
    began=$(date +%s)
    (cd "$clone" && make test) >"$folder/$run.log" 2>&1
    status=$?
    release
    took=$(($(date +%s) - began))
    told=$(grep -E '^=*.* (passed|failed|error).* in ' "$folder/$run.log" | tail -1)
    printf 'run %s of %s at %s, %s: %s in %d:%02d with set-up; %s\n' "$run" "$RUNS" "$commit" "$how" \
        "$([ "$status" -eq 0 ] && echo green || echo FAILED)" $((took / 60)) $((took % 60)) "$told"
    rm -rf "$clone"
    if [ "$status" -ne 0 ]; then
        failed=$((failed + 1))
        echo "  see $folder/$run.log"
    fi
done
echo "$((RUNS - failed)) of $RUNS runs were green"
[ "$failed" -eq 0 ]
