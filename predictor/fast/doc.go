// Package fast approximates the default method of package predictor by tables
// that are drawn once per application: a pair takes nanoseconds, and a newcomer
// beside any number of residents some hundred. It serves matrices of thousands of
// applications, the choice among thousands of memory domains, and a report that is
// read without Bandmate.
//
// Everyone is taken at mean traffic. A Model holds two tables.
//
// # Traffic table
//
// P(x, c) is the normalized performance beside steady traffic x of others, drawn
// from the curves at 24 even steps of x up to the highest measured pressure, and 12
// more beyond that, in two columns: read shares of 50% and 100%. With the read share
// r of the others, c = (r − 0.5) ÷ 0.5 within 0 to 1, and
//
//	P(x, c) = P₀(x) + c·(P₁(x) − P₀(x))
//
// with straight lines between the steps. Beyond the last step the slowdown 1 ÷ P
// goes on as in the last step.
//
// A pair a, b of traffic t alone lies between two bounds, beside an undisturbed
// neighbor and beside one that a slows down as though a were undisturbed. Pairs
// takes the middle, with traffic held at the highest measured pressure:
//
//	low  = Pₐ(t_b, c_b)
//	high = Pₐ(t_b·P_b(tₐ, cₐ), c_b)
//	P    = (low + high) ÷ 2
//
// A group is the fixed point of pᵢ = Pᵢ(Σⱼ tⱼ·pⱼ, c) over j ≠ i, found by 16 steps
// p ← (p + P) ÷ 2.
//
// # Delay table
//
// Where one model of the memory describes everyone, the delay of that memory is all
// that they have in common. Flow F(d) is what an application transfers when the
// delay is d, E(d, c) its slowdown less 1, both at the 53 delays 2^(k/4). Flows of
// an aggregate add up. It settles at the delay where what all ask for is what the
// memory then carries,
//
//	ρ(ΣF(d)) = ρ(d)
//
// with the load ρ of traffic and of a delay as package memory defines them, by a
// straight line between the two delays where the difference changes its sign.
// Slowdowns are read there, with c of the aggregate's traffic.
//
// Where all co-runners come over one link, their delay is that of the memory and the
// wait for the link, at which the link carries what they ask for. The target is next to
// the memory and does not wait.
//
// # Error
//
// TestErrorBound holds the approximation to the exact method on five simulated
// platforms: all pairs of the applications, and random groups of two to eight. In
// points of normalized performance, the estimate of a pair is off by at most 2.5 in
// the mean and 22 in any case, that of a group by the delay table by 2.5 and 20, and
// that of a group by the traffic tables by 10 and 50. The last serves for a shortlist
// only (see Aggregate.Reliable), the more so where co-runners are farther from the
// memory and the exact method knows both roles, which these tables do not: 16 and 70.
package fast
