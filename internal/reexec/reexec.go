// Package reexec runs this program again, as a process with another role. The
// process may outlive the program, or use other CPUs or namespaces, and needs no
// second file to install.
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

// Variable returns the name of the environment variable that gives a process the
// role. Its value is the role's argument.
func (r Role) Variable() string { return "BANDMATE_" + strings.ToUpper(string(r)) }

// Taken reports whether this process has the role. One that has must not start
// another: a program that never takes the role would do so without end.
func (r Role) Taken() bool {
	_, ok := os.LookupEnv(r.Variable())
	return ok
}

// Run calls main with the role's argument in a process that has the role, and
// exits with the status that main returns. In every other process it does nothing.
func (r Role) Run(main func(argument string) int) {
	if argument, ok := os.LookupEnv(r.Variable()); ok {
		os.Exit(main(argument))
	}
}

// Command returns the command that runs this program in the role, in the directory
// "/" and with the environment of this process, even where the program's file has
// been replaced. argument is any value of an environment variable.
func (r Role) Command(argument string) *exec.Cmd {
	// os.Executable names the file, which may have been replaced.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = "bandmate-" + string(r)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), r.Variable()+"="+argument)
	return cmd
}
