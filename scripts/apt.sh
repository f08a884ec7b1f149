# Installs Debian packages when we may; sourced by the ensure-*.sh scripts.

# Runs a command as root: directly, or through a sudo that asks for no password.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

# True when apt-get exists and we may run it without asking anyone.
may_apt() {
    command -v apt-get >/dev/null 2>&1 || return 1
    [ "$(id -u)" -eq 0 ] && return 0
    command -v sudo >/dev/null 2>&1 && sudo -n true >/dev/null 2>&1
}

apt_update() {
    as_root apt-get update -qq
}

# `env` carries the setting through sudo, which drops the caller's environment.
apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}
