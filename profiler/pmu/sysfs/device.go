// Package sysfs reads the perf devices (PMUs) that a kernel lists under
// /sys/bus/event_source/devices, and turns event descriptions into the numbers
// that perf_event_open(2) takes. Everything is read from an fs.FS whose root is
// that of sysfs; nothing here opens a counter.
//
// A file that is not as the kernel documents it
// (Documentation/ABI/testing/sysfs-bus-event_source-devices-*) is an error that
// names the file and wraps [sysfile.ErrMalformed].
package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/sysfile"
	"bandmate.dev/bandmate/topology"
)

// Root is the folder of all perf devices, in sysfs.
const Root = "bus/event_source/devices"

// Device is one PMU.
type Device struct {
	// Name is the kernel's, such as "uncore_imc_0".
	Name string
	// Type identifies the device to perf_event_open(2); another one after every
	// boot.
	Type uint32
	// CPUs are those to open events on, one for each instance that the device
	// stands for. Empty when the file cpumask is there and empty, as while the
	// CPUs it names are offline.
	CPUs cpuset.CPUSet
	// HasCPUMask is false for devices of cores, which count on every CPU.
	HasCPUMask bool
	// Format are the fields of the device's events by name.
	Format map[string]Field
	// Events are those the kernel describes; empty where it describes none.
	Events map[string]Event
}

// Event is what a kernel says about an event of a device.
type Event struct {
	// Terms is the description for [Device.Encode].
	Terms string
	// Scale times a count is an amount of Unit; 0 when the kernel does not say.
	Scale float64
	// Unit such as "MiB"; empty when the kernel does not say.
	Unit string
}

var unitBytes = map[string]float64{
	"bytes": 1, "Bytes": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

// UnitBytes returns how many bytes a unit such as "MiB" stands for; false for a
// unit of something else.
func UnitBytes(unit string) (float64, bool) {
	bytes, known := unitBytes[unit]
	return bytes, known
}

// Bytes returns how many bytes a count stands for by the kernel's scale; false
// when the kernel gives none, or a unit that is not of bytes.
func (e Event) Bytes() (float64, bool) {
	factor, known := unitBytes[e.Unit]
	return e.Scale * factor, known && e.Scale > 0
}

// Names lists the perf devices; empty when there are none. The error wraps
// fs.ErrNotExist for a kernel without perf events.
func Names(sys fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(sys, Root)
	if err != nil {
		return nil, fmt.Errorf("listing perf devices: %w", err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Read reads one device:
//
//	type            24
//	cpumask         0,28       also 0-1, or empty
//	format/umask    config:8-15,24-27
//	events/cas_count_read        event=0x04,umask=0x03
//	events/cas_count_read.scale  6.103515625e-5
//	events/cas_count_read.unit   MiB
func Read(sys fs.FS, name string) (Device, error) {
	if name == "" || strings.ContainsAny(name, "/\\") {
		return Device{}, fmt.Errorf("%q is not the name of a perf device", name)
	}
	d := Device{Name: name, Format: map[string]Field{}, Events: map[string]Event{}}
	dir := Root + "/" + name
	text, err := sysfile.Text(sys, dir+"/type")
	if err != nil {
		return Device{}, fmt.Errorf("perf device %s: %w", name, err)
	}
	kind, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return Device{}, fmt.Errorf("%s/type: %w: %q is not a number", dir, sysfile.ErrMalformed, text)
	}
	d.Type = uint32(kind)
	if d.CPUs, d.HasCPUMask, err = CPUMask(sys, name); err != nil {
		return Device{}, err
	}
	if err := d.readFormat(sys, dir+"/format"); err != nil {
		return Device{}, err
	}
	if err := d.readEvents(sys, dir+"/events"); err != nil {
		return Device{}, err
	}
	return d, nil
}

// CPUMask reads the CPUs to open a device's events on; false when the device
// has no such file.
func CPUMask(sys fs.FS, device string) (cpuset.CPUSet, bool, error) {
	name := Root + "/" + device + "/cpumask"
	text, err := sysfile.Text(sys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return cpuset.CPUSet{}, false, nil
	}
	if err != nil {
		return cpuset.CPUSet{}, false, err
	}
	cpus, err := topology.ParseCPUs(text)
	if err != nil {
		return cpuset.CPUSet{}, false, fmt.Errorf("%s: %w: %w", name, sysfile.ErrMalformed, err)
	}
	return cpus, true, nil
}

// each calls read with every file of a folder, which need not exist.
func each(sys fs.FS, dir string, read func(name, text string) error) error {
	entries, err := fs.ReadDir(sys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := sysfile.Text(sys, dir+"/"+e.Name())
		if err != nil {
			return err
		}
		if err := read(e.Name(), text); err != nil {
			return fmt.Errorf("%s/%s: %w: %w", dir, e.Name(), sysfile.ErrMalformed, err)
		}
	}
	return nil
}

func (d *Device) readFormat(sys fs.FS, dir string) error {
	return each(sys, dir, func(name, text string) error {
		// No counter of the catalog needs the words config3 and config4 of newer kernels.
		if word, _, _ := strings.Cut(text, ":"); word == "config3" || word == "config4" {
			return nil
		}
		field, err := ParseField(text)
		if err == nil {
			d.Format[name] = field
		}
		return err
	})
}

func (d *Device) readEvents(sys fs.FS, dir string) error {
	scales, units := map[string]float64{}, map[string]string{}
	err := each(sys, dir, func(name, text string) error {
		base, isScale := strings.CutSuffix(name, ".scale")
		if isScale {
			scale, err := parseScale(text)
			scales[base] = scale
			return err
		}
		if base, isUnit := strings.CutSuffix(name, ".unit"); isUnit {
			units[base] = text
			return nil
		}
		if slices.Contains([]string{".per-pkg", ".snapshot", ".percore"}, suffix(name)) {
			return nil
		}
		if text == "" {
			return errors.New("empty; want terms such as event=0x04,umask=0x03")
		}
		d.Events[name] = Event{Terms: text}
		return nil
	})
	if err != nil {
		return err
	}
	for name, e := range d.Events {
		e.Scale, e.Unit = scales[name], units[name]
		d.Events[name] = e
	}
	return nil
}

func suffix(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[i:]
	}
	return ""
}

func parseScale(text string) (float64, error) {
	scale, err := strconv.ParseFloat(text, 64)
	if err != nil || !(scale > 0) || math.IsInf(scale, 0) {
		return 0, fmt.Errorf("%q is not a scale above 0", text)
	}
	return scale, nil
}
