package capability

import "fmt"

// Barrier is a dissemination barrier: in every round each thread signals to
// some partners and waits for as many. After the last round every thread has
// heard, directly or not, of every other.
type Barrier struct {
	// Threads is n, 1 or more.
	Threads int
	// Rounds and Partners are r and m: (m + 1)^r ≥ n.
	Rounds, Partners int
	// Cost is modeled, by equation 2.
	Cost Cost
}

// NewBarrier returns the cheapest barrier by equation 2 of Ramos and Hoefler:
//
//	T_diss(r, m) = r·(R_I + m·R_R)   with r = ⌈log_(m+1) n⌉
//
// Of equal costs the one with fewer partners wins. A single thread has no rounds
// and no cost.
func NewBarrier(p Parameters, threads int) (Barrier, error) {
	if err := checkThreads(threads); err != nil {
		return Barrier{}, err
	}
	best, err := BarrierWith(p, threads, min(1, threads-1))
	for m := 2; m < threads && err == nil; m++ {
		var b Barrier
		if b, err = BarrierWith(p, threads, m); b.Cost < best.Cost {
			best = b
		}
	}
	return best, err
}

// BarrierWith returns the barrier with m partners a round, 1 to n − 1 (0 for a
// single thread). One partner makes the classic dissemination barrier.
func BarrierWith(p Parameters, threads, partners int) (Barrier, error) {
	if err := p.Validate(); err != nil {
		return Barrier{}, err
	}
	if err := checkThreads(threads); err != nil {
		return Barrier{}, err
	}
	if partners < min(1, threads-1) || partners > threads-1 {
		return Barrier{}, fmt.Errorf("%d partners among %d threads: want 1 to one less than the threads", partners, threads)
	}
	b := Barrier{Threads: threads, Partners: partners}
	for reached := 1; reached < threads; reached *= partners + 1 {
		b.Rounds++
	}
	b.Cost = Cost(b.Rounds) * (p.Memory + Cost(partners)*p.Remote)
	return b, nil
}

// Signals returns the threads that a thread signals to in a round, counted from
// 0: those (m + 1)^round, 2·(m + 1)^round … places further. In the last round it
// leaves out itself and threads that were signaled to.
func (b Barrier) Signals(thread, round int) []int {
	stride := 1
	for range round {
		stride *= b.Partners + 1
	}
	var to []int
	for i := 1; i <= b.Partners && i*stride < b.Threads; i++ {
		to = append(to, (thread+i*stride)%b.Threads)
	}
	return to
}
