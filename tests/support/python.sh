# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# python.sh - which Python runs the tests.

# pytest_python - the first that has pytest: the one in PATH need not be the system's.
pytest_python()
{
	local python

	for python in python3 /usr/bin/python3; do
		! "$python" -c 'import pytest' 2> /dev/null || break
	done
	echo "$python"
}
