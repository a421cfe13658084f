// Command initrd packs files into the root file system of a virtual machine.
//
//	initrd OUT NAME=FILE...
//
// Every file becomes executable; the folders it needs, the empty ones that a
// guest mounts on, and /dev/console are added.
package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: initrd OUT NAME=FILE...")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "initrd:", err)
		os.Exit(1)
	}
}

func pack(output string, arguments []string) (err error) {
	entries := []entry{{name: "dev/console", mode: modeConsole, major: 5, minor: 1}}
	for _, argument := range arguments {
		name, file, ok := strings.Cut(argument, "=")
		if !ok || name == "" {
			return fmt.Errorf("%q: want NAME=FILE", argument)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: name, mode: modeProgram, data: data})
	}
	out, err := os.Create(output)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return writeArchive(out, append(folders(entries), entries...))
}

// folders returns the mount points and every folder that entries lie in,
// parents first.
func folders(entries []entry) []entry {
	names := map[string]bool{"dev": true, "proc": true, "sys": true, "tmp": true}
	for _, e := range entries {
		for dir := path.Dir(e.name); dir != "."; dir = path.Dir(dir) {
			names[dir] = true
		}
	}
	var list []entry
	for name := range names {
		list = append(list, entry{name: name, mode: modeFolder})
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return list
}
