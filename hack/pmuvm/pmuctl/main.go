// Command pmuctl changes the pretend PMUs of the virtual machine of
// hack/pmu-vm.sh, from inside, in steps. It is also the application that is
// measured there: one whose traffic is known exactly.
//
//	pmuctl add '* 0 1e6 5e5' sleep 100ms
package main

import (
	"fmt"
	"os"

	"bandmate.dev/bandmate/hack/pmuvm/fakepmu"
)

func main() {
	steps, err := fakepmu.ParseSteps(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "pmuctl:", err)
		os.Exit(2)
	}
	for _, step := range steps {
		if err := step.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "pmuctl:", err)
			os.Exit(1)
		}
	}
}
