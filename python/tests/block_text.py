"""How tests read the block: words without its lines, and the command that it folds."""

import re


def unfolded(text):
    return " ".join(text.split())


def replay_line(text):
    """The first command, as it stands there: with a backslash at the end of each line but the last."""
    return re.search(r"^    (python3 (?:.* \\\n)*.*)$", text, re.M).group(1)
