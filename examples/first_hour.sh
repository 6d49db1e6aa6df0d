#!/bin/sh
# Does what a new user does: builds the wheel, installs it into a fresh environment, and walks the README from top to
# bottom in an empty folder, without this repository; then the READMEs of the examples, each in an empty folder. Every
# script and command runs, and its output is compared.
#
#   sh examples/first_hour.sh                  walk all, with the blocks that take minutes
#   sh examples/first_hour.sh --install DIR    only make the environment, DIR/bin
#
# The dependencies are those of the Python that $PYTHON names (python3 by default) if it has them; otherwise pip
# downloads them.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
environment=$work/environment
if [ "${1:-}" = --install ]; then environment=${2:?name the folder of the environment}; fi

has() { "$python" -c "$1" > /dev/null 2>&1; }

mkdir "$work/source"
(cd "$root" && tar cf - --exclude=__pycache__ flowmind flowbench_synth tools_registry experiments examples \
  pyproject.toml setup.py MANIFEST.in README.md LICENSE) | (cd "$work/source" && tar xf -)
isolated=
if has 'import setuptools; assert int(setuptools.__version__.split(".")[0]) >= 77'; then isolated=--no-build-isolation; fi
"$python" -m pip --disable-pip-version-check wheel --quiet --no-deps $isolated --wheel-dir "$work" "$work/source"
wheel=$(ls "$work"/*.whl)

"$python" -m venv --without-pip "$environment"
install() { "$python" -m pip --disable-pip-version-check --python "$environment/bin/python" install --quiet "$@"; }
if has 'import pydantic, langgraph, openai, jinja2'; then
  "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$work/dependencies.pth"
  mv "$work/dependencies.pth" "$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  install --no-deps "$wheel"
else
  install "$wheel[report]"
fi
if [ "${1:-}" = --install ]; then exit; fi

"$environment/bin/flowmind" --version
cd "$root"
for document in README.md examples/*/README.md; do
  empty=$work/$(echo "$document" | tr / _)
  mkdir "$empty"
  echo "== $document"
  (cd "$empty" && "$environment/bin/python" "$root/tests/readme_blocks.py" "$root/$document" --slow)
done
