#!/usr/bin/env bash
# Gets what the tests of the VS Code extension need: code-server (with a Node of its own), Chromium, Playwright, and
# the packaged extension. Needs npm, and apt-get where Chromium is missing; 600 MB of disk, a minute or two.
#
#   tests/editors/install-vscode.sh FOLDER
#   OUTRIDER_EDITORS=FOLDER .venv/bin/python -m pytest tests/editors/test_vscode*.py
set -euo pipefail
project=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${1:?the folder to install into}"
tools=$(cd "$1" && pwd)
python=${PYTHON:-$project/.venv/bin/python}

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
fi

# code-server 4.139 needs Node 24. Its native parts come prebuilt, or are not needed for these tests.
if [ ! -x "$tools/node/node_modules/node/bin/node" ]; then
  mkdir -p "$tools/node"
  npm install --silent --no-audit --no-fund --prefix "$tools/node" node@24
fi
node=$(find -L "$tools/node/node_modules" -path '*/bin/node' -type f | head -n 1)
if [ ! -e "$tools/complete" ]; then
  export PATH="$(dirname "$node"):$PATH" npm_config_nodedir="$(dirname "$(dirname "$node")")"
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$tools" code-server@4.139.1
  (cd "$tools/node_modules/code-server/lib/vscode" && npm install --silent --no-audit --no-fund --omit=dev --ignore-scripts)
  (cd "$tools/node_modules/code-server/lib/vscode/extensions" && npm install --silent --no-audit --no-fund --omit=dev --ignore-scripts)
  touch "$tools/complete"
fi

"$python" -m pip install --quiet --disable-pip-version-check 'playwright>=1.50,<2'
cd "$project/editors/vscode"
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-audit --no-fund
PYTHON="$python" npm run --silent package
