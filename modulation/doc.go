// Package modulation measures how much programs slow each other down by
// switching them on and off within milliseconds and comparing their rates of
// work, as a lock-in amplifier does.
//
// A machine's neighbors, clock and placement change within tenths of a second,
// so runs that follow each other cannot be compared to a percent. Slices of some
// milliseconds that follow each other can. A block is a palindrome of slices, each
// state of the parties twice (ABBA or BAAB for two states, at random), so that a
// linear drift cancels. The ratio of rates in a block is one reading; its
// logarithm is what is averaged, because ratios of noisy rates average upwards.
//
// [SlicingFor] chooses the length of slices by the rate of the count, and
// [Choosing] makes them longer if a pressure takes longer to have its full
// effect. A [Bench] measures blocks. A [Plan] measures as many as it needs in one
// placement regime. [Summarize] turns the readings into an [Estimate]. For a program
// with phases, readings are weighted by the work along the run, so that the estimate
// holds for a whole run. This requires phases much longer than a block, and at least
// two runs that repeat. Phases within a block are averaged by their logarithms.
//
// The method combines randomized interleaved trials (Abedi and Brecht 2017), duet
// benchmarking (Bulej et al. 2020), the alternating priorities of MISE and ASM
// (Subramanian et al. 2013, 2015) and the pausing of neighbors of Bubble-Flux
// (Yang et al. 2013).
//
// The package knows neither processes nor counters: a [Party] is switched and
// read, and a [Clock] tells the time, so that all of it runs against a simulated
// machine.
package modulation
