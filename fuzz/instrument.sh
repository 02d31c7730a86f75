#!/bin/sh
# The compiler, as cargo calls it: the library and the targets are instrumented for libFuzzer, dependencies are not.
rustc=$1
shift
case " $* " in
  *" --crate-name agent_test "* | *" --crate-name state_file "* | *" --crate-name route_map "* | *" --crate-name report_file "*)
    exec "$rustc" "$@" --cfg fuzzing -Cdebug-assertions=yes -Ccodegen-units=1 -Cpasses=sancov-module \
      -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
      -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
esac
exec "$rustc" "$@"
