// SPDX-License-Identifier: Apache-2.0

// Command report runs go test and tells what comes of it while it runs: a line for each package with the time since the
// start, the output of what fails as soon as it has failed, why tests were skipped, and at the end
//
//	1234 passed, 0 failed, 5 skipped
//
// Tests and their subtests count alike; a package that does not build, or that ends outside of a test, is a failure of
// its own. Packages named by -stream are shown line by line as they run, for those that take minutes.
//
//	go run ./test/report -stream test/e2e -- -count=1 ./...
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	stream := flag.String("stream", "", "show packages whose path contains this line by line")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	ok, err := run(ctx, *stream, flag.Args(), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
	}

	if !ok || err != nil {
		stop()
		os.Exit(1)
	}
}

// run returns whether all is well. What go test itself says, such as bad flags, goes to stderr.
func run(ctx context.Context, stream string, args []string, out io.Writer) (bool, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	// Tests clean up after themselves when they are interrupted, not when they are killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = time.Minute

	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}

	if err := cmd.Start(); err != nil {
		return false, fmt.Errorf("start go test: %w", err)
	}

	t := newTally(out, stream)
	scanErr := t.read(pipe)
	testErr := cmd.Wait()

	t.finish(testErr != nil)

	if ctx.Err() != nil {
		return false, ctx.Err()
	}

	return t.failed == 0 && testErr == nil, scanErr
}

// read takes the events of go test -json.
func (t *tally) read(r io.Reader) error {
	for lines := bufio.NewReaderSize(r, 1<<20); ; {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event

			// What is not an event is shown as it is: nothing that was said is lost.
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(t.out, line)
			} else {
				t.event(e)
			}
		}

		if err == io.EOF { //nolint:errorlint // as it is
			return nil
		}

		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func short(pkg string) string {
	_, inside, ok := strings.Cut(pkg, "github.com/seed-59268b81/talos/")
	if !ok {
		return pkg
	}

	return inside
}
