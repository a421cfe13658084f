package slurm

import (
	"slices"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/predictor"
)

// cacheRoom is the last-level caches of a part of a node that has several.
type cacheRoom struct {
	// cores is how many cores share one.
	cores int
	// free are the CPUs that no job is known to hold, by the number of the cache on the
	// node.
	free map[int]float64
	// told is true where Slurm reports the caches that a job uses.
	told bool
}

// coresPerCache returns how many cores of a node share each of its last-level caches; 0
// where that does not follow from their CPUs. Slurm numbers cores in the order of hwloc,
// in which those of a cache follow each other, and not as the kernel does. So that the
// number of a core says its cache, all must be alike, and Slurm must know every CPU.
func coresPerCache(n *Node, caches []cpuset.CPUSet) int {
	cores := n.Sockets * n.CoresPerSocket
	if len(caches) == 0 || cores <= 0 || cores%len(caches) != 0 {
		return 0
	}
	each := cores / len(caches)
	other := func(c cpuset.CPUSet) bool { return c.Size() != each*max(1, n.ThreadsPerCore) }
	if slices.ContainsFunc(caches, other) {
		return 0
	}
	return each
}

// addCaches adds the caches of a node to its parts.
func (o *Occupancy) addCaches(n *Node, parts []*occupancy.Node) {
	caches := o.advisor.SharedCaches(parts[0].Machine)
	cores := coresPerCache(n, caches)
	if cores == 0 || parts[0].Domain != "" || len(caches)%len(parts) != 0 {
		return
	}
	each := len(caches) / len(parts)
	for i, part := range parts {
		room := &cacheRoom{cores: cores, free: make(map[int]float64, each)}
		for number := i * each; number < (i+1)*each; number++ {
			room.free[number] = float64(cores * n.cpusPerCore())
		}
		for socket, system := range n.SystemCores {
			for _, core := range system {
				if number := (socket*n.CoresPerSocket + core) / cores; number/each == i {
					room.free[number] -= float64(n.cpusPerCore())
				}
			}
		}
		o.caches[part] = room
	}
}

// held returns the CPUs that a job holds on a part of a node, by cache; nil where Slurm
// does not report them.
func (o *Occupancy) held(j *Job, n *Node, part *occupancy.Node) map[int]float64 {
	room := o.caches[part]
	if room == nil {
		return nil
	}
	var held map[int]float64
	for socket, cores := range j.coresOn(n) {
		for _, core := range cores {
			if socket < 0 || socket >= n.Sockets || core < 0 || core >= n.CoresPerSocket {
				return nil
			}
			number := (socket*n.CoresPerSocket + core) / room.cores
			if _, here := room.free[number]; !here {
				continue
			}
			if held == nil {
				held = map[int]float64{}
			}
			held[number] += float64(n.cpusPerCore())
		}
	}
	return held
}

// take notes that a job takes CPUs of caches.
func (r *cacheRoom) take(held map[int]float64) {
	for number, cpus := range held {
		r.free[number] -= cpus
		r.told = true
	}
}

// Caches returns the caches in which a job may come to run on a part of a node: those with
// a CPU that nobody is known to hold, or all. Where it is known of nobody there which one
// it uses, that is AnyCache.
func (o *Occupancy) Caches(part *occupancy.Node) predictor.Caches {
	room := o.caches[part]
	if room == nil || !room.told {
		return predictor.AnyCache
	}
	var free, all predictor.Caches
	for number, cpus := range room.free {
		all |= predictor.CachesOf(number)
		if cpus > 0 {
			free |= predictor.CachesOf(number)
		}
	}
	if free == predictor.AnyCache {
		return all
	}
	return free
}

// seatUntold sets where jobs may run of which Slurm did not tell it.
func (o *Occupancy) seatUntold() {
	for part, room := range o.caches {
		for _, r := range part.Residents {
			if r.Caches != predictor.AnyCache {
				continue
			}
			r.Caches = o.Caches(part)
			if len(room.free) > 1 {
				o.untold[r.Node] = append(o.untold[r.Node], r)
			}
		}
	}
}

// numbers returns the caches of which CPUs are held.
func numbers(held map[int]float64) predictor.Caches {
	var c predictor.Caches
	for number := range held {
		c |= predictor.CachesOf(number)
	}
	return c
}

// spread returns so many CPUs evenly in each cache of a set.
func spread(c predictor.Caches, cpus float64) map[int]float64 {
	held := map[int]float64{}
	for number := range predictor.MostCaches {
		if c&predictor.CachesOf(number) != 0 {
			held[number] = cpus / float64(c.Len())
		}
	}
	return held
}
