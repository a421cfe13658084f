//go:build race

package onboard

import "time"

// gone is longer than without the race detector, which slows the guard down.
const gone = 5 * time.Second
