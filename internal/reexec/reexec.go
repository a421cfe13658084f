// Package reexec runs this program again, as a process with a role of its own:
// for what has to live or die apart from the program, or on other CPUs, or in
// other namespaces, with no second file to install.
//
// A program that may be run again takes the role, with [Role.Run], before it does
// anything else in main; a test program does so in TestMain.
package reexec

import (
	"os"
	"os/exec"
	"strings"
)

// Role is what the process is for: a word in lower case. "guard" is the process
// bandmate-guard, made by the environment variable BANDMATE_GUARD.
type Role string

// Variable names the environment variable that gives a process the role. It holds
// what the process was told.
func (r Role) Variable() string { return "BANDMATE_" + strings.ToUpper(string(r)) }

// Taken reports whether this process has the role. One that has must not start
// another: a program that never takes the role would do so without end.
func (r Role) Taken() bool {
	_, ok := os.LookupEnv(r.Variable())
	return ok
}

// Run plays the role in a process that has it: it calls main with what the process
// was told and ends it with the status that main returns. In every other process it
// does nothing.
func (r Role) Run(main func(told string) int) {
	if told, ok := os.LookupEnv(r.Variable()); ok {
		os.Exit(main(told))
	}
}

// Command returns the command, not started, that runs this program in the role,
// even where its file has been replaced: in the directory "/", with the environment
// of this process, which it may be given more of. The process can be told anything
// that an environment variable may hold.
func (r Role) Command(told string) *exec.Cmd {
	// Not os.Executable: that names the file, which may be another one by now.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = "bandmate-" + string(r)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), r.Variable()+"="+told)
	return cmd
}
