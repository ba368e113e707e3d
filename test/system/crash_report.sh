#!/bin/bash
# A test program that crashes leaves the name of the running test and a backtrace.
set -u
. test/support/expect.bash
root=$PWD # the programs read files of the tests there
enter "$1"
export GTEST_ALSO_RUN_DISABLED_TESTS=1 GTEST_FILTER='CrashReport.*'
ulimit -c 0
expect 1 'ended with status 134 in test CrashReport.DISABLED_Crashes' env -C "$root" test/run-tests "$work" \
  "$folder/test/config-tests"
expect 0 'ended by SIGABRT in test CrashReport.DISABLED_Crashes' cat test/logs/config-tests.log
expect 0 '^CrashReport_DISABLED_Crashes_Test::TestBody' cat test/logs/config-tests.log
expect 0 '^CrashReport.DISABLED_Crashes' tr -d '\0' <test/logs/config-tests.running
exit $bad
