# shellcheck shell=bash
# compare BASE HEAD where the two are git revisions: each is checked out below build/compare and makes its own report, with its
# own launcher and the same options; then the program compares the reports. Sourced by ../../flashproof.
# shellcheck disable=SC2154  # root, preset, build, program, no_install, no_build, test_packages: set there

compare_git() { git -C "$root" "$@"; }

# In a hook git says by these which repository and index the caller's are. Here each command names its tree with -C, and what is
# left of the caller's would have the index of the working tree reset for that of a checkout.
forget_callers_git() { unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_PREFIX; }

is_kernel_id() { [[ $1 =~ ^(softmax|merge|attention|attention_backward)\.[a-z0-9_.]+(@.*)?$ ]]; }

revision_of() { # TEXT: the commit on stdout, "." for the working tree; fails if it is none
  if [[ $1 == . || $1 == WORKTREE ]]; then
    printf '.'
    return
  fi
  compare_git rev-parse --verify --quiet --end-of-options "$1^{commit}" 2>/dev/null
}

# Splits the arguments. Sets sides=(BASE HEAD), report_options=(...), compare_options=(...), rounds and benchmark_filter.
split_compare_arguments() { # ARGUMENT...
  local takes
  while (($#)); do
    takes=0
    case $1 in
      --kernel | --family | --format | --seed | --jobs | --exec | --math | --profile | --gate | --waivers | --today | --markdown | --json | --case | --measure | --benchmark-filter) takes=1 ;;
      --bench) takes=2 ;;
    esac
    if (($# <= takes)); then fail 2 "$1 needs a value"; fi
    case $1 in
      --kernel | --kernel=* | --family | --family=* | --format | --format=* | --seed | --seed=* | --jobs | --jobs=* | --exec | --exec=* | --math | --math=* | --profile | --profile=* | --quick | --nightly)
        report_options+=("${@:1:takes+1}")
        ;;
      --measure) rounds=$2 ;;
      --measure=*) rounds=${1#*=} ;;
      --benchmark-filter) benchmark_filter=$2 ;;
      --benchmark-filter=*) benchmark_filter=${1#*=} ;;
      --case | --case=*) case_given=1 ;;
      -*) compare_options+=("${@:1:takes+1}") ;;
      *) sides+=("$1") ;;
    esac
    shift $((takes + 1))
  done
}

# A worktree of the commit, whole whatever an earlier call left there. Sets tree.
checkout_for_compare() { # COMMIT
  tree=$root/build/compare/$1
  if [[ -e $tree/.git ]] && [[ $(git -C "$tree" rev-parse HEAD 2>/dev/null) == "$1" ]]; then
    git -C "$tree" reset --quiet --hard || fail 3 "cannot restore $tree; remove it, and try again"
    return
  fi
  rm -rf -- "$tree"
  compare_git worktree prune
  half_done=$tree
  compare_git worktree add --quiet --force --detach "$tree" "$1" >&2 || fail 3 "cannot check out $1 at $tree"
  half_done=''
}

remove_half_done() {
  if [[ -z $half_done ]]; then return; fi
  rm -rf -- "$half_done"
  compare_git worktree prune
}

# The report of one side. Sets report.
report_for_compare() { # NAME TEXT COMMIT
  local name=$1 text=$2 commit=$3 status=0 out
  local -a launcher=()
  if [[ $commit == . ]]; then
    tree=$root out=$root/build/compare/worktree
  else
    checkout_for_compare "$commit"
    out=$tree/build/compare-report
  fi
  if [[ ! -x $tree/flashproof ]]; then fail 2 "$name $(quoted "$text") has no ./flashproof: legal are revisions of flashproof"; fi
  rm -rf -- "$out"
  mkdir -p -- "$out"
  report=$out/report.json
  if [[ $preset == portable ]]; then launcher+=(--portable); fi
  if ((no_install)); then launcher+=(--no-install); fi
  if ((no_build)); then launcher+=(--no-build); fi
  say "$name $text ($commit): building and reporting"
  # What both revisions compile alike comes from a compiler cache, where there is one.
  CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1 env -u FLASHPROOF_REVISION \
    "$tree/flashproof" "${launcher[@]}" report "${report_options[@]}" --out "$out" >"$out/report.txt" </dev/null || status=$?
  if ((status == 130 || status == 143)); then exit "$status"; fi
  if ((status > 1)); then fail "$status" "$name $(quoted "$text"): its report ended with exit code $status"; fi
  if [[ ! -s $report ]]; then fail 1 "$name $(quoted "$text"): no case was executed, so there is nothing to compare"; fi
}

# Both benchmarks in turn, who goes first changing; adds --bench BASE HEAD for every round.
measure_for_compare() { # BASE-TREE HEAD-TREE
  local target=kernels_benchmark program=benchmarks/kernels_benchmark place round side order
  local -a trees=("$1" "$2")
  local times=$root/build/compare/times
  if [[ $preset == cuda ]]; then target=gpu_benchmark program=kernels/gpu_benchmark/gpu_benchmark; fi
  rm -rf -- "$times"
  mkdir -p -- "$times"
  for place in "${trees[@]}"; do
    say "building $target in $place"
    { cmake -DFLASHPROOF_TESTS=ON "$place/build/$preset" &&
      cmake --build "$place/build/$preset" --parallel "$(build_jobs)" --target "$target"; } >"$times/build.log" 2>&1 </dev/null ||
      fail 3 "$target does not build in $place; see build/compare/times/build.log"
  done
  for ((round = 1; round <= rounds; ++round)); do
    say "round $round of $rounds"
    order='0 1'
    if ((round % 2 == 0)); then order='1 0'; fi
    for side in $order; do
      "${trees[side]}/build/$preset/$program" --benchmark_filter="$benchmark_filter" --benchmark_out_format=json \
        --benchmark_out="$times/$side-$round.json" >/dev/null 2>"$times/run.log" </dev/null ||
        fail 3 "$program failed in ${trees[side]}; see build/compare/times/run.log"
    done
    compare_options+=(--bench "$times/0-$round.json" "$times/1-$round.json")
  done
}

run_compare() { # ARGUMENT...
  local -a sides=() report_options=() compare_options=() reports=() trees=() commits=()
  local rounds='' benchmark_filter=. case_given=0 half_done='' tree='' report='' side name commit
  forget_callers_git
  split_compare_arguments "$@"
  local revisions=0
  for side in "${sides[@]}"; do
    commit=''
    if [[ $side != *.json ]] && ! is_kernel_id "$side"; then commit=$(revision_of "$side" || true); fi
    if [[ -n $commit ]]; then revisions=$((revisions + 1)); fi
    commits+=("$commit")
  done
  if ((${#sides[@]} == 2)); then
    for side in 0 1; do
      if [[ -z ${commits[side]} && ! -e ${sides[side]} && ${sides[side]} != *.json ]] && ! is_kernel_id "${sides[side]}"; then
        fail 2 "$(quoted "${sides[side]}"): no report.json, no kernel's id, and no git revision of this checkout"
      fi
    done
  fi
  if ((${#sides[@]} != 2 || revisions == 0)); then
    prepare flashproof-cli "$program"
    export_revision
    exec "$program" compare "$@"
  fi
  if ((revisions == 1)); then fail 2 "$(quoted "${sides[0]}") and $(quoted "${sides[1]}"): must be two of a kind: reports, kernels or git revisions"; fi
  if ((case_given)); then fail 2 '--case: for two kernels; two revisions take --kernel, --family, --format and --seed'; fi
  if [[ -n $rounds ]] && [[ ! $rounds =~ ^([2-9]|[1-9][0-9]|1[0-9][0-9]|200)$ ]]; then fail 2 "--measure $(quoted "$rounds"): must be 2..200"; fi

  if [[ -n $rounds ]]; then # builds benchmarks
    if ((no_build)); then fail 2 '--measure builds benchmarks, which --no-build forbids'; fi
    # shellcheck disable=SC2034  # packages.sh reads it
    more_packages=$test_packages
  fi
  prepare flashproof-cli "$program"
  # Wrong files show before hours of building. Reports of which nothing is read yet stand for the two to come.
  "$program" compare BASE.json HEAD.json --check "${compare_options[@]}" || exit $?
  mkdir -p -- "$root/build/compare"
  exec 8>"$root/build/compare/.lock"
  if command -v flock >/dev/null && ! flock -n 8; then
    say 'waiting: another call is comparing in this tree'
    flock 8
  fi
  trap remove_half_done EXIT
  trap 'exit 3' INT TERM
  for side in 0 1; do
    name=BASE
    if ((side)); then name=HEAD; fi
    report_for_compare "$name" "${sides[side]}" "${commits[side]}"
    # Both may be one commit: then the second run would replace the first's file.
    cp -- "$report" "$root/build/compare/$name.json"
    reports+=("$root/build/compare/$name.json")
    trees+=("$tree")
  done
  if [[ -n $rounds ]]; then measure_for_compare "${trees[@]}"; fi
  "$program" compare "${reports[@]}" "${compare_options[@]}" || exit $?
  exit 0
}
