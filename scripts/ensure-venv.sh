#!/usr/bin/env bash
# Makes a virtual environment in the given folder with a Python that is 3.11 or newer.
#
# PYTHON names the interpreter to use; without it the usual names are tried. Debian ships `venv`
# as a package of its own: it is installed if we may, otherwise we say what to install and exit 1.
set -euo pipefail

# shellcheck source=scripts/apt.sh
source "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

readonly VENV=${1:?usage: ensure-venv.sh FOLDER}

# Runs the interpreter instead of trusting its name: version managers leave shims that do not start.
is_recent() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

can_make_venv() {
    "$1" -c 'import ensurepip, venv' >/dev/null 2>&1
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3.11 python3 python3.12 python3.13 python3.14}; do
        if is_recent "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

if is_recent "$VENV/bin/python" && "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi

if ! python=$(find_python); then
    cat >&2 <<MESSAGE
Headrace needs Python 3.11 or newer; ${PYTHON:-python3} is absent or older.
  Debian 12+, Ubuntu 24.04+   sudo apt-get update && sudo apt-get install -y python3 python3-venv
  elsewhere                   install Python 3.11 or newer and pass it: make setup PYTHON=path/to/python
MESSAGE
    exit 1
fi

if ! can_make_venv "$python"; then
    version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    if may_apt; then
        echo "$python has no venv module. Installing it from the distribution."
        apt_update || echo "apt-get update failed; trying with the package lists that are there." >&2
        for package in python3-venv "$version-venv"; do
            if apt_install "$package" && can_make_venv "$python"; then
                break
            fi
        done
    fi
    if ! can_make_venv "$python"; then
        cat >&2 <<MESSAGE
$python cannot make virtual environments: its venv and ensurepip modules are missing.
  Debian, Ubuntu   sudo apt-get update && sudo apt-get install -y python3-venv   (or $version-venv)
MESSAGE
        exit 1
    fi
fi

echo "Making $VENV with $("$python" --version)"
"$python" -m venv --clear "$VENV"
