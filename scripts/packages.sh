#!/bin/sh
# packages.sh WITHOUT PACKAGE...
# Installs Debian packages, where that may be done, and says what it means to be without them where
# it may not. Never a reason to fail: what needs them says itself what it leaves out.

without=$1
shift
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "make: $without; on Debian: sudo apt install $*" >&2
	exit 0
fi

# One after the other, so that one that is not to be had keeps no other away.
install() {
	failed=
	for package in "$@"; do
		DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "$package" \
			</dev/null >/dev/null || failed=1
	done
	[ -z "$failed" ]
}

echo "Installing $* (once)"
install "$@" 2>/dev/null || { apt-get update -qq && install "$@"; } ||
	echo "make: cannot install all of $*; $without" >&2
