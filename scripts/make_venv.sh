#!/usr/bin/env bash
# Makes the Python environment at HOTROW_VENV with the pinned client/python/requirements-dev.txt.
# Does nothing when it was made from the same requirements and interpreter.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

requirements=client/python/requirements-dev.txt
stamp=$venv/.requirements
# The system's interpreter, whose headers python3-dev brings; `python3` may be another one.
python=/usr/bin/python3
wanted="$(sha256sum <"$requirements") $("$python" --version)"
if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

say "making $venv: downloads PyTorch and its tools (several GB, a few minutes the first time)"
if [ -e "$venv" ] && ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
  say "$venv has no working interpreter: making it anew"
  "$python" -m venv --clear "$venv"
else
  "$python" -m venv "$venv"
fi
"$venv/bin/python" -m pip install --disable-pip-version-check --requirement "$requirements" </dev/null
echo "$wanted" >"$stamp"
