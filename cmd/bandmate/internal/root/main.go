// Package root is the root command and the main function of bandmate, for the program and
// for tests that run it.
package root

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/network/namespaces"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/pausing"
	"bandmate.dev/bandmate/report"
)

// Main runs the command line of this process and exits with its exit code. In a child process
// of bandmate it does what that child is for.
func Main() {
	interferer.RunIfChild()
	launch.RunIfGuard()
	pausing.RunIfWatchdog()
	namespaces.RunIfChild()
	os.Exit(run(os.Args[1:]))
}

// sanitizeLines keeps what a message quotes, such as a file name, from
// steering the terminal.
func sanitizeLines(message string) string {
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		lines[i] = report.SanitizeText(line)
	}
	return strings.Join(lines, "\n")
}

// run executes one command line and returns its exit code.
func run(args []string) int {
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		ending = append(ending, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ending...)
	defer stop()
	// A second signal ends this process the hard way.
	context.AfterFunc(ctx, stop)
	// Beyond a limit of the file size a write then fails, rather than this
	// process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ)
	a := &cli.App{Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv, Plugin: filepath.Base(os.Args[0]) == "kubectl-bandmate"}
	root := New(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	a.SaveKept()
	err = errors.Join(err, a.HelpError())
	if err != nil && !cli.IsSilent(err) {
		a.Complain("bandmate: " + sanitizeLines(a.Describe(cmd, err)) + "\n")
	}
	return cli.ExitCode(err)
}
