package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTwinsAreAlike checks that the two jobs of a pair differ in place and label only, and
// that a queue can be played.
func TestTwinsAreAlike(t *testing.T) {
	with, without := partitions(2)
	if with.nodes[0] != "n09" || without.nodes[3] != "n16" {
		t.Errorf("nodes %v and %v", with.nodes, without.nodes)
	}
	place := strings.NewReplacer("without2", "P", "with2", "P", "n13", "n09", "n14", "n10", "n15", "n11", "n16", "n12")
	limits, reserved, excluded := 0, 0, 0
	for number := range 300 {
		q := randomQueue(16, number)
		if !reflect.DeepEqual(q, randomQueue(16, number)) {
			t.Fatalf("queue %d is another one the second time", number)
		}
		if q.reserved > 0 {
			reserved++
		}
		for _, j := range q.jobs {
			a, b := j.arguments(with, "x", "", "sleep"), j.arguments(without, "x", "", "sleep")
			a = slices.DeleteFunc(a, func(s string) bool { return strings.HasPrefix(s, "--comment=bandmate=") })
			if got, want := place.Replace(strings.Join(a, " ")), place.Replace(strings.Join(b, " ")); got != want {
				t.Errorf("queue %d: %s and %s", number, got, want)
			}
			if j.limit != "" {
				limits++
				if !q.limits {
					t.Errorf("queue %d has a limit and does not say so", number)
				}
			}
			if j.excluded > 0 {
				excluded++
			}
			impossible := j.gpu && (j.excluded == 1 || q.reserved == 1 || j.inReservation) || j.named > 0 && j.named == q.reserved ||
				j.inReservation && (q.reserved == 0 || j.nodes > 1 || j.excluded == q.reserved) || j.memory >= 1000 || j.cpus/j.nodes > 8
			if impossible {
				t.Errorf("queue %d: %+v never starts", number, j)
			}
			if got := j.arguments(with, "x", "n09,n10", "sleep"); !slices.Contains(got, "--exclude=n09,n10") {
				t.Errorf("excluded is nothing: %v", got)
			}
		}
	}
	if limits < 100 || reserved < 30 || excluded < 100 {
		t.Errorf("%d limits, %d reservations, %d exclusions: the queues say little", limits, reserved, excluded)
	}
}
