#!/usr/bin/env bash
# Makes the pictures of README and docs anew: the SVG that hack/generate.sh makes
# as well, and the report page as PNG in light and dark, which differ with the
# version of Chromium and its fonts and are not compared.
source "$(dirname "$0")/lib.sh"

need chromium chromium
need pngquant pngquant
go generate ./hack/pictures/...
go run ./cmd/bandmate report --quiet --output "$scratch/report.html" --store docs/example/store
schemes=(dark light) # the values of Chromium's enumeration
for scheme in "${!schemes[@]}"; do
  name=report-${schemes[scheme]}.png
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,1130 --user-data-dir="$scratch/browser" \
    --blink-settings=preferredColorScheme="$scheme" --screenshot="$scratch/$name" "file://$scratch/report.html"
  pngquant --force --output "docs/pictures/$name" 96 "$scratch/$name"
done
