# Which commands and options of help.txt an unknown one may have been meant as: WRONG=replya awk -f near.awk help.txt
# prints the nearest, at most two edits away and at least half of it right; nothing where none is.

function least(a, b) { return a < b ? a : b }

# As of reference/system/near_matches.cc: insert, delete, replace, swap neighbours.
function distance(a, b,    d, i, j, same) {
  for (i = 0; i <= length(a); ++i) d[i, 0] = i
  for (j = 0; j <= length(b); ++j) d[0, j] = j
  for (i = 1; i <= length(a); ++i) {
    for (j = 1; j <= length(b); ++j) {
      same = substr(a, i, 1) == substr(b, j, 1)
      d[i, j] = least(least(d[i - 1, j], d[i, j - 1]) + 1, d[i - 1, j - 1] + !same)
      if (i > 1 && j > 1 && substr(a, i, 1) == substr(b, j - 1, 1) && substr(a, i - 1, 1) == substr(b, j, 1)) {
        d[i, j] = least(d[i, j], d[i - 2, j - 2] + 1)
      }
    }
  }
  return d[length(a), length(b)]
}

BEGIN { wrong = substr(ENVIRON["WRONG"], 1, 40); best = 3 }

match($0, /^  [a-z-]+  /) {
  edits = distance(wrong, $1)
  if (edits < best && 2 * edits <= length($1)) { best = edits; name = $1 }
}

END { if (name != "") print name }
