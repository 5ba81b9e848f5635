// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize/english"
)

// progress is how far a target is.
type progress struct {
	elapsed    string
	executions uint64
	// found is how many inputs it found that reach code which no input reached before.
	found uint64
}

func (p progress) String() string {
	return fmt.Sprintf("%s, %s, %s", cmp.Or(p.elapsed, "0s"),
		english.Plural(int(p.executions), "execution", ""), english.Plural(int(p.found), "new input", ""))
}

// result is how a target ended.
type result struct {
	progress

	failed bool
	// output is what go test wrote, without lines of progress.
	output string
}

// run runs a target for a time, and calls say with its progress from time to time.
func (t target) run(ctx context.Context, each string, say func(progress)) (result, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+each, "-timeout=0", t.pkg)
	// go test does not forward signals to the processes that execute the target, so the whole process group gets them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second

	out, err := cmd.StdoutPipe()
	if err != nil {
		return result{}, err
	}

	cmd.Stderr = cmd.Stdout // in one order

	if err := cmd.Start(); err != nil {
		return result{}, fmt.Errorf("start go test: %w", err)
	}

	r := read(out, say)
	r.failed = cmd.Wait() != nil && !endedLate(r.output)

	return r, nil
}

// read takes the output of a target.
func read(out io.Reader, say func(progress)) (r result) {
	var (
		text  strings.Builder
		shown = time.Now()
	)

	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')

		if p, ok := parseProgress(line); ok {
			r.progress = p

			if time.Since(shown) >= progressEvery {
				shown = time.Now()
				say(p)
			}
		} else if !strings.HasPrefix(line, "fuzz: elapsed:") { // it executes what it found in earlier runs
			text.WriteString(line)
		}

		if err != nil { // its end, or that of the process
			r.output = text.String()

			return r
		}
	}
}

var progressLine = regexp.MustCompile(`^fuzz: elapsed: (\S+), execs: (\d+) \(\d+/sec\), new interesting: (\d+) `)

// parseProgress parses a line of progress.
func parseProgress(line string) (progress, bool) {
	m := progressLine.FindStringSubmatch(line)
	if m == nil {
		return progress{}, false
	}

	executions, err := strconv.ParseUint(m[2], 10, 64)
	if err != nil {
		return progress{}, false
	}

	found, err := strconv.ParseUint(m[3], 10, 64)

	return progress{m[1], executions, found}, err == nil
}

// late matches the failure of a target as a whole, with no other cause than the end of its time.
var late = regexp.MustCompile(`(?m)^--- FAIL: \w+ \(\S+\)\n {4}context deadline exceeded\nFAIL$`)

// endedLate reports whether the output is that of a target that failed only because it was still executing at the end of its time. Go
// 1.26 reports that as a failure (https://go.dev/issue/75804, corrected in Go 1.27).
func endedLate(output string) bool {
	return late.MatchString(output) && !strings.Contains(output, "Failing input written to")
}
