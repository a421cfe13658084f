package interferer

import (
	"math"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

// page returns a control page that nobody shares.
func page(threads int) *controlPage {
	words := make([]uint64, controlPageBytes(threads)/8)
	return overlay(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8), threads)
}

func TestControlPageLayout(t *testing.T) {
	if got := unsafe.Sizeof(header{}); got != headerBytes {
		t.Errorf("header of %d bytes, want %d", got, headerBytes)
	}
	if got := unsafe.Sizeof(slot{}); got != slotBytes {
		t.Errorf("slot of %d bytes, want %d", got, slotBytes)
	}
	if got := unsafe.Offsetof(slot{}.records); got%64 != 0 {
		t.Errorf("records at %d: share a cache line with what is polled", got)
	}
}

func settings() *rapid.Generator[Setting] {
	return rapid.Custom(func(t *rapid.T) Setting {
		s := Setting{
			Mode:      rapid.SampledFrom(modes()).Draw(t, "mode"),
			Bandwidth: units.Bandwidth(rapid.Float64Range(0, 1e15).Draw(t, "bandwidth")),
			ReadShare: units.ReadShare(rapid.Float64Range(0, 1).Draw(t, "share")),
			Pattern:   rapid.SampledFrom(append(patterns(), "")).Draw(t, "pattern"),
		}
		if s.Pattern == Random {
			s.InFlight = rapid.IntRange(0, 16).Draw(t, "inFlight")
			s.Footprint = units.LineBytes * rapid.Int64Range(0, 1<<30).Draw(t, "lines")
		}
		return s
	})
}

func TestSettingCodeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := settings().Draw(t, "setting")
		var code settingCode
		code.store(s)
		got, err := code.load()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.withDefaults(), got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUntouchedPageSaysIdle(t *testing.T) {
	s, err := page(1).header.setting.load()
	if err != nil || s.Mode != Idle {
		t.Errorf("setting %+v, error %v, want idle", s, err)
	}
}

// Whatever is in the shared memory, a setting that is read is a valid one.
func FuzzSettingCode(f *testing.F) {
	f.Add(uint32(2), uint32(1), uint32(8), math.Float64bits(1e9), math.Float64bits(0.75), int64(1<<20))
	f.Add(uint32(3), uint32(0), uint32(0), uint64(0), uint64(0), int64(0))
	f.Add(uint32(2), uint32(0), uint32(0), math.Float64bits(math.NaN()), math.Float64bits(0.5), int64(0))
	f.Add(uint32(2), uint32(0), uint32(math.MaxUint32), uint64(0), uint64(0), int64(-1))
	f.Fuzz(func(t *testing.T, mode, pattern, inFlight uint32, bandwidth, share uint64, footprint int64) {
		var code settingCode
		code.mode.Store(mode)
		code.pattern.Store(pattern)
		code.inFlight.Store(inFlight)
		code.bandwidth.Store(bandwidth)
		code.readShare.Store(share)
		code.footprint.Store(footprint)
		s, err := code.load()
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Errorf("read %+v: %v", s, err)
		}
	})
}

func TestRequestIsAcknowledgedByEveryThread(t *testing.T) {
	p := page(3)
	sequence := p.request(Setting{Mode: Spin})
	for i := range p.slots {
		if p.acknowledged(sequence) {
			t.Fatalf("acknowledged by %d of 3 threads", i)
		}
		p.slots[i].acknowledged.Store(sequence)
	}
	if !p.acknowledged(sequence) {
		t.Error("not acknowledged by all threads")
	}
	if p.acknowledged(p.request(Setting{Mode: Idle})) {
		t.Error("the next setting is acknowledged beforehand")
	}
}

// A sleeping thread misses no setting: not one written before it slept, nor
// one written while it sleeps.
func TestSleepEndsWithANewSetting(t *testing.T) {
	p := page(1)
	before := p.header.sequence.Load()
	p.request(Setting{Mode: Spin})
	p.sleep(before, time.Hour)

	before = p.header.sequence.Load()
	var asleep sync.WaitGroup
	asleep.Go(func() {
		for p.header.sequence.Load() == before {
			p.sleep(before, time.Hour)
		}
	})
	time.Sleep(time.Millisecond)
	p.request(Setting{Mode: Idle})
	asleep.Wait()
}

// A reader never sees halves of two records.
func TestRecordsAreConsistent(t *testing.T) {
	p := page(1)
	var writer sync.WaitGroup
	const last = 100_000
	writer.Go(func() {
		for n := range uint64(last + 1) {
			p.slots[0].publish(record{
				time: time.Duration(n), readBytes: n, writeBytes: n, late: time.Duration(n), offCPU: time.Duration(n),
				windows: windowSums{count: n, sum: float64(n), squares: float64(n)},
			})
		}
	})
	for {
		r := p.slots[0].latest()
		n := r.readBytes
		want := record{
			time: time.Duration(n), readBytes: n, writeBytes: n, late: time.Duration(n), offCPU: time.Duration(n),
			windows: windowSums{count: n, sum: float64(n), squares: float64(n)},
		}
		if r != want {
			t.Fatalf("mixed record %+v", r)
		}
		if n == last {
			break
		}
	}
	writer.Wait()
}

func TestCountersOfThreads(t *testing.T) {
	p := page(2)
	p.slots[0].publish(record{time: 100, streaming: true, readBytes: 10, writeBytes: 1, late: 5, windows: windowSums{2, 3, 5}})
	p.slots[1].publish(record{time: 300, streaming: true, readBytes: 20, writeBytes: 2, offCPU: 7})
	want := Counters{
		Time: 200, ReadBytes: 30, WriteBytes: 3, Late: 5, OffCPU: 7,
		threads: 2, windows: windowSums{2, 3, 5},
	}
	compare := cmp.AllowUnexported(Counters{}, windowSums{})
	if diff := cmp.Diff(want, p.counters(1000), compare); diff != "" {
		t.Error(diff)
	}
	// What a thread that does not stream has done is still true now.
	p.slots[1].publish(record{time: 300, readBytes: 20, writeBytes: 2, offCPU: 7})
	want.Time = 550
	if diff := cmp.Diff(want, p.counters(1000), compare); diff != "" {
		t.Error(diff)
	}
}
