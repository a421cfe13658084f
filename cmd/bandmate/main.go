// Bandmate predicts how much two jobs will slow each other down before they share a
// memory system.
package main

//go:generate go test -count=1 -run ^TestManualPages$ -update-manual .

import "bandmate.dev/bandmate/cmd/bandmate/internal/root"

func main() { root.Main() }
