# shellcheck shell=bash
# What is missing of packages.txt, through apt. Sourced by ./flashproof, which sets root, parts, options and groups.
# shellcheck disable=SC2154  # those
apt() { # apt-get's arguments; its output goes to the log
  local -a get=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -o DPkg::Lock::Timeout=120)
  "${as_root[@]}" "${get[@]}" "$@" </dev/null >>"$root/build/apt.log" 2>&1
}
install_packages() { # of packages.txt those of the groups; without dpkg what is missing is CMake's to say
  local removed missing=() as_root=()
  if ! have dpkg-query; then return; fi
  mapfile -t missing < <(awk -v groups=" $groups " 'index(groups, " " $1 " ") { print $2 }' "$parts/packages.txt")
  mapfile -t missing < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${missing[@]}" 2>/dev/null |
    awk '!wanted && $2 == "installed" { here[$1] } wanted && !($1 in here)' - wanted=1 <(printf '%s\n' "${missing[@]}"))
  if ((${#missing[@]} == 0)); then return; fi
  local -a install=(install --no-remove --no-install-recommends -y "${missing[@]}")
  local -a dry_run=(env LC_ALL=C apt-get -s --no-install-recommends install "${missing[@]}")
  say "missing packages (${#missing[@]}):"
  awk 'NR == FNR { wanted[$1]; next } $2 in wanted && !shown[$2]++ { sub(/^[a-z]+ +/, "  "); print }' \
    <(printf '%s\n' "${missing[@]}") "$parts/packages.txt" >&2
  if told --no-install; then fail 3 "not installed (--no-install); as root: apt-get ${install[*]}"; fi
  if ((EUID != 0)); then as_root=(sudo -n); fi
  "${as_root[@]}" true 2>/dev/null || fail 3 "not installed (not root, and sudo wants a password); as root: apt-get ${install[*]}"
  if ! "${dry_run[@]}" >/dev/null 2>&1; then # knows old lists, conflicts and success before anything changes
    say 'updating the package lists (apt-get update)'
    apt update || failed 'apt-get update failed' apt.log
    "${dry_run[@]}" >>"$root/build/apt.log" 2>&1 || failed 'apt cannot install these (the names are those of Debian 12)' apt.log
  fi
  removed=$("${dry_run[@]}" | awk '$1 == "Remv" { printf " %s", $2 }') # Debian has the headers of one Boost at a time, we need 1.81
  [[ -z $removed ]] || fail 3 "apt would remove$removed: do that, or work in a container, then: apt-get ${install[*]}"
  say 'installing them through apt, which takes some minutes (log: build/apt.log)'
  apt "${install[@]}" || { apt update && apt "${install[@]}"; } || failed 'apt-get install failed' apt.log
}
