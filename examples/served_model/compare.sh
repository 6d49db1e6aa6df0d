#!/bin/sh
# Compares modes on the benchmark with a model that a server with the OpenAI protocol serves:
#   OPENAI_BASE_URL=http://127.0.0.1:8000/v1 sh compare.sh MODEL [FLAGS OF flowmind exp]
# The same command continues an interrupted comparison. MODES sets the modes.
set -eu
model=${1:?name the model, for example qwen3-8b}
shift
: "${OPENAI_BASE_URL:?set it to the URL of the server, for example http://127.0.0.1:8000/v1}"
for mode in ${MODES:-react pe es-react es-pe}; do
  flowmind exp --model "$model" --mode "$mode" --out "runs/$model-$mode" "$@"
done
flowmind report runs
