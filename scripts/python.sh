#!/bin/sh
# Prints the Python that the virtual environment is made with, unless `make PYTHON=…` names one:
# python3, but the system's own where that was built without optimisations. Distributions build
# theirs with them, and a crawl then takes 5 to 8 % less CPU.

usable='import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'
optimised='import sys, sysconfig
sys.exit("--enable-optimizations" not in (sysconfig.get_config_var("CONFIG_ARGS") or ""))'

if python3 -c "$usable" 2>/dev/null && python3 -c "$optimised" 2>/dev/null; then
	echo python3
elif /usr/bin/python3 -c "$usable" 2>/dev/null; then
	echo /usr/bin/python3
else
	# Whatever is wrong with it, the caller says so.
	echo python3
fi
