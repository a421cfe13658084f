//go:build !amd64

package measure

// available returns the portable loops: they have no non-temporal stores.
func available() []loops { return []loops{portable} }

// canFlush says that lines can be taken out of all caches.
const canFlush = false

func flushLines([]line) {}
