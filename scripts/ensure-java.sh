#!/usr/bin/env bash
# Makes sure that the Java which Spark will use is version 17 or newer.
#
# Looks where Spark looks: JAVA_HOME first, then `java` on PATH. When there is none, or the one on
# PATH is too old, installs a headless JRE from the distribution if it may, and otherwise says what
# to install and exits 1.
set -euo pipefail

# shellcheck source=scripts/apt.sh
source "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

readonly NEEDED=17

# Prints the major version of the given java command, or nothing if it does not run.
# `java -version` says `version "17.0.15"`, `version "21-ea"` or, before Java 9, `version "1.8.0_402"`.
java_major() {
    local output
    output=$("$1" -version 2>&1) || return 0
    sed -n -E '/ version "/{s/.* version "(1\.)?([0-9]+).*/\2/p;q;}' <<<"$output"
}

java_on_path_is_good() {
    local major
    hash -r
    command -v java >/dev/null 2>&1 || return 1
    major=$(java_major java)
    [ -n "$major" ] && [ "$major" -ge "$NEEDED" ]
}

say_what_to_install() {
    cat >&2 <<MESSAGE
Headrace runs on Spark, which needs Java $NEEDED or newer; $1
Install a headless Java runtime and run the command again:
  Debian, Ubuntu   sudo apt-get update && sudo apt-get install -y default-jre-headless
                   (or openjdk-17-jre-headless where the default is older than $NEEDED)
  Fedora, RHEL     sudo dnf install java-17-openjdk-headless   (or a newer one)
  macOS            brew install openjdk@17
or set JAVA_HOME to a Java $NEEDED or newer that you already have.
MESSAGE
}

# Spark never looks past JAVA_HOME, so installing another Java would not help here.
if [ -n "${JAVA_HOME:-}" ]; then
    major=$(java_major "$JAVA_HOME/bin/java")
    if [ -n "$major" ] && [ "$major" -ge "$NEEDED" ]; then
        echo "Java $major from JAVA_HOME ($JAVA_HOME)"
        exit 0
    fi
    cat >&2 <<MESSAGE
Headrace runs on Spark, which needs Java $NEEDED or newer, but JAVA_HOME is set to
  $JAVA_HOME
where bin/java is ${major:+version }${major:-missing or does not run}.
Set JAVA_HOME to a Java $NEEDED or newer, or unset it to use (or install) the one on PATH.
MESSAGE
    exit 1
fi

if java_on_path_is_good; then
    echo "Java $(java_major java) from PATH"
    exit 0
fi

if command -v java >/dev/null 2>&1; then
    major=$(java_major java)
    found="the one on PATH is ${major:+version }${major:-not able to run}."
else
    found="there is none on PATH."
fi

if ! may_apt; then
    say_what_to_install "$found"
    exit 1
fi

echo "Java $NEEDED or newer is needed; $found Installing one from the distribution."
apt_update || echo "apt-get update failed; trying with the package lists that are there." >&2
for package in default-jre-headless openjdk-17-jre-headless; do
    if apt_install "$package" && java_on_path_is_good; then
        echo "Java $(java_major java) from PATH ($package)"
        exit 0
    fi
done
say_what_to_install "the distribution's packages did not bring one."
exit 1
