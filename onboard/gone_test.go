//go:build !race

package onboard

import "time"

// gone is how long what was ended may still be there.
const gone = time.Second
