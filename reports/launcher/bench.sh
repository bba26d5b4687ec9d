# shellcheck shell=bash
# bench: every Google Benchmark program of the build, one file of all results, and two files compared. Sourced by ../../flashproof.
# shellcheck disable=SC2154  # root, build, program, bench_...: set there and by split_bench_arguments

# Sets bench_where, bench_out, bench_compare=(...) and bench_options=(...).
split_bench_arguments() { # ARGUMENT...
  local value
  bench_where=cpu bench_out='' bench_compare=() bench_options=()
  while (($#)); do
    value=''
    case $1 in
      --exec | --out)
        if (($# < 2)); then fail 2 "$1 needs a value"; fi
        if [[ $1 == --exec ]]; then bench_where=$2; else bench_out=$2; fi
        shift
        ;;
      --exec=*) bench_where=${1#*=} ;;
      --out=*) bench_out=${1#*=} ;;
      --compare)
        while (($# > 1)) && [[ $2 != -* ]]; do
          bench_compare+=("$2")
          shift
        done
        if ((${#bench_compare[@]} < 1 || ${#bench_compare[@]} > 2)); then
          fail 2 '--compare takes BASE.json, which this machine then runs against, or BASE.json HEAD.json'
        fi
        ;;
      --benchmark_out* | --benchmark_list_tests* | --benchmark_format*) fail 2 "$(quoted "$1"): bench writes --out FILE, and prints a table" ;;
      --benchmark_*) bench_options+=("$1") ;;
      *) fail 2 "bench takes --exec cpu|cuda, --out FILE, --compare BASE.json [HEAD.json], then Google Benchmark's --benchmark_... options, not $(quoted "$1")" ;;
    esac
    shift
  done
  for value in "${bench_compare[@]}"; do
    if [[ ! -f $value || ! -r $value ]]; then fail 2 "--compare $(quoted "$value"): must be a file that exists"; fi
  done
  if [[ -n $bench_out && ! -d $(dirname -- "$bench_out") ]]; then fail 2 "--out $(quoted "$bench_out"): its directory does not exist"; fi
  if [[ -d $bench_out ]]; then fail 2 "--out $(quoted "$bench_out"): must be a file"; fi
  if ((${#bench_compare[@]} == 2 && ${#bench_options[@]})) || { ((${#bench_compare[@]} == 2)) && [[ -n $bench_out ]]; }; then
    fail 2 '--compare BASE.json HEAD.json runs nothing, so it takes no other option'
  fi
}

# Sets bench_names=(...) to the programs that have a benchmark which the options choose.
choose_benchmarks() {
  local name chosen status=0
  local -a errors
  bench_names=()
  while read -r name; do
    if [[ -z $name ]]; then continue; fi
    if [[ ! -x $bench_folder/$name ]]; then fail 3 "--no-build: $bench_folder/$name is not there"; fi
    chosen=$("$bench_folder/$name" "${bench_options[@]}" --benchmark_list_tests=true 2>"$build/benchmark.err" </dev/null) || status=$?
    if ((status)); then # an option or an expression that Google Benchmark does not know
      mapfile -t errors <"$build/benchmark.err"
      fail 2 "bench: ${errors[0]-}"
    fi
    # Where nothing fits it says so on stdout, too.
    if [[ -n $chosen && $chosen != 'Failed to match'* ]]; then bench_names+=("$name"); fi
  done <"$1"
  if ((${#bench_names[@]} == 0)); then fail 2 'bench: no benchmark has a name that --benchmark_filter fits'; fi
}

run_benchmarks() { # ARGUMENT...
  local name status=0 results
  local -a bench_options bench_compare bench_names parts=()
  local bench_where bench_out bench_folder
  split_bench_arguments "$@"
  if ((${#bench_compare[@]} == 2)); then
    prepare flashproof-cli "$program"
    exec "$program" compare --bench "${bench_compare[@]}"
  fi
  if ((${#bench_compare[@]} == 1)) && [[ -z $bench_out ]]; then bench_out=$build/bench.json; fi
  results=$build/benchmark-results
  if [[ $bench_where == cuda ]]; then
    bench_folder=$build/kernels/gpu_benchmark
    prepare gpu_benchmark "$bench_folder/gpu_benchmark"
    if [[ -z $bench_out ]]; then
      python3 "$root/kernels/gpu_benchmark/table.py" "$bench_folder/gpu_benchmark" "${bench_options[@]}" </dev/null || status=$?
      exit "$status"
    fi
    printf 'gpu_benchmark\n' >"$build/gpu_names.txt"
    choose_benchmarks "$build/gpu_names.txt"
  else
    bench_folder=$build/benchmarks
    prepare benchmarks "$bench_folder/names.txt"
    if ! grep -q . "$bench_folder/names.txt"; then fail 3 'the build has no benchmarks'; fi
    choose_benchmarks "$bench_folder/names.txt"
  fi
  cat -- "$build/benchmarks/flags.txt"
  mkdir -p -- "$results"
  for name in "${bench_names[@]}"; do
    say "$name"
    "$bench_folder/$name" "${bench_options[@]}" ${bench_out:+"--benchmark_out=$results/$name.json" --benchmark_out_format=json} </dev/null || status=$?
    if ((status)); then fail 3 "$name failed (exit $status)"; fi
    parts+=("$name=$results/$name.json")
  done
  if [[ -n $bench_out ]]; then
    python3 -B "$root/reports/launcher/merge_benchmarks.py" "$bench_out" "$build/benchmarks/flags.txt" "${parts[@]}" || exit 3
    say "wrote $bench_out"
  fi
  if ((${#bench_compare[@]})); then
    prepare flashproof-cli "$program"
    exec "$program" compare --bench "${bench_compare[0]}" "$bench_out"
  fi
  exit 0
}
