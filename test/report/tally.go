// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
	FailedBuild                               string
}

// result of one package.
type result struct {
	passed, failed, skipped int
	output                  map[string][]string // by test, "" for the package's own
	failures                []string            // tests, in the order in which they ended
}

// tally counts the results.
type tally struct {
	out   io.Writer
	since func() time.Duration
	live  string // the package that is shown line by line

	packages                map[string]*result
	passed, failed, skipped int
	failures                []string // what failed, to be found at the end of a long report
	noTests                 int
	reasons                 map[string]int // why tests were skipped
	spent                   spent
}

func newTally(out io.Writer) *tally {
	start := time.Now()

	return &tally{
		out: out, since: func() time.Duration { return time.Since(start) },
		packages: map[string]*result{}, reasons: map[string]int{},
	}
}

func (t *tally) say(format string, args ...any) {
	elapsed := t.since()
	fmt.Fprintf(t.out, "%3d:%02d  %s\n", int(elapsed.Minutes()), int(elapsed.Seconds())%60, fmt.Sprintf(format, args...))
}

// fail counts and shows a failure that is not a test's.
func (t *tally) fail(what, format string, args ...any) {
	t.failed++
	t.failures = append(t.failures, what)
	t.say("FAIL  "+format, args...)
}

func (t *tally) event(e event) {
	if e.Package == "" {
		// Events of builds have an import path instead.
		if e.Action == "build-output" {
			fmt.Fprint(t.out, e.Output)
		}

		return
	}

	r := t.packages[e.Package]
	if r == nil {
		r = &result{output: map[string][]string{}}
		t.packages[e.Package] = r
	}

	switch e.Action {
	case "output":
		t.output(r, e)
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.packageEnds(r, e)
			delete(t.packages, e.Package)
		} else {
			t.testEnds(r, e)
		}
	}
}

func (t *tally) output(r *result, e event) {
	r.output[e.Test] = append(r.output[e.Test], e.Output)

	if e.Package == t.live {
		t.say("%s", strings.TrimRight(e.Output, "\n"))
	}
}

func (t *tally) testEnds(r *result, e event) {
	t.spent.test(e, e.Package == t.live)

	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		r.failures = append(r.failures, e.Test)

		return // its output is shown with the package's
	case "skip":
		r.skipped++
		t.reasons[reason(r.output[e.Test])]++
	}

	delete(r.output, e.Test)
}

// reason returns why a test was skipped, from its output.
func reason(output []string) string {
	text := "no reason given"

	for _, line := range output {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "===") || strings.HasPrefix(trimmed, "---") {
			continue
		}

		if _, said, ok := strings.Cut(trimmed, ".go:"); ok {
			_, trimmed, _ = strings.Cut(said, ": ")
		}

		text = trimmed
	}

	return text
}

// position is the file and the line before what a test says.
var position = regexp.MustCompile(`^\s+\w+\.go:\d+: `)

// stage is a line of the table that ends the output of a long test: what it did, and how long that took.
var stage = regexp.MustCompile(`^\s+\w+\.go:\d+: +\d+\.\ds  `)

// said returns the last lines that a test has said, below its name, without its table of stages. There are many such lines in the output of a
// long one.
func said(output []string) string {
	const lines, line = 8, 300

	var said []string

	for _, text := range output {
		if stage.MatchString(text) {
			continue
		}

		if position.MatchString(text) || len(said) > 0 && strings.HasPrefix(text, "        ") {
			text = strings.TrimSpace(text)
			said = append(said, "\n      "+text[:min(len(text), line)])
		}
	}

	return strings.Join(said[max(0, len(said)-lines):], "")
}

func (t *tally) packageEnds(r *result, e event) {
	took := time.Duration(e.Elapsed * float64(time.Second)).Round(10 * time.Millisecond)
	t.spent.packages = append(t.spent.packages, item{short(e.Package), took})

	// The package did not build, or ended outside of its tests.
	if e.Action == "fail" && r.failed == 0 {
		r.failed++
		r.failures = append(r.failures, "")
	}

	t.passed += r.passed
	t.failed += r.failed
	t.skipped += r.skipped

	if r.passed+r.failed+r.skipped == 0 {
		t.noTests++

		return
	}

	counts := fmt.Sprintf("%d passed", r.passed)
	if r.failed > 0 {
		counts += fmt.Sprintf(", %d failed", r.failed)
	}

	if r.skipped > 0 {
		counts += fmt.Sprintf(", %d skipped", r.skipped)
	}

	word := "ok  "
	if r.failed > 0 {
		word = "FAIL"
	}

	t.say("%s  %-40s %8s  %s", word, short(e.Package), took, counts)

	for _, test := range r.failures {
		t.failures = append(t.failures, strings.TrimSpace(short(e.Package)+" "+test)+said(r.output[test]))

		// A test fails with its subtest; its own output, if there is any, is shown too.
		for _, line := range r.output[test] {
			fmt.Fprint(t.out, "        ", line)
		}
	}

	if r.failed > 0 && !slices.Contains(r.failures, "") {
		for _, line := range r.output[""] {
			fmt.Fprint(t.out, "        ", line)
		}
	}
}

// ends handles the end of one go test. Packages that never ended count as failed, and so does a go test that failed
// without naming a test.
func (t *tally) ends(failed bool, before int) {
	for _, pkg := range slices.Sorted(maps.Keys(t.packages)) {
		t.fail(short(pkg), "%s did not end", short(pkg))

		for _, lines := range t.packages[pkg].output {
			for _, line := range lines {
				fmt.Fprint(t.out, "        ", line)
			}
		}
	}

	clear(t.packages)

	if failed && t.failed == before {
		t.fail("go test", "go test failed without naming a test; see its output above")
	}
}

// finish prints the summary.
func (t *tally) finish() {
	for _, why := range slices.Sorted(maps.Keys(t.reasons)) {
		t.say("skipped %d: %s", t.reasons[why], why)
	}

	t.say("packages without tests: %d", t.noTests)
	t.spent.print(t.out)

	if len(t.failures) > 0 {
		fmt.Fprintln(t.out, "failed:")
	}

	for _, what := range t.failures {
		fmt.Fprintf(t.out, "  %s\n", what)
	}

	fmt.Fprintf(t.out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
}
