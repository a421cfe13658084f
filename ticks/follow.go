package ticks

import "time"

// family is how often new threads and processes of a program are looked for.
const family = 20 * time.Millisecond

// follow calls look, now and then again and again until stop is called, which
// waits for the last look.
func follow(look func()) (stop func()) {
	look()
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(family)
		defer tick.Stop()
		for {
			select {
			case <-ending:
				return
			case <-tick.C:
				look()
			}
		}
	}()
	return func() {
		close(ending)
		<-ended
	}
}
