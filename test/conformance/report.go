// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// result is the result of a run.
type result struct {
	passed, notRun int
	// failed are the tests that failed, with the reasons. They include the setup and the end of all tests.
	failed []failure
	// succeeded is the verdict of the test program on the whole run.
	succeeded bool
}

type failure struct{ name, reason string }

// good reports whether tests ran and all of them passed.
func (r result) good() bool { return r.succeeded && len(r.failed) == 0 && r.passed > 0 }

// String returns the failures, one a line, and the counts.
func (r result) String() string {
	var out strings.Builder

	for _, f := range r.failed {
		reason, _, _ := strings.Cut(strings.TrimSpace(f.reason), "\n")
		fmt.Fprintf(&out, "failed: %s: %s\n", f.name, reason)
	}

	fmt.Fprintf(&out, "%d passed, %d failed, %d not run", r.passed, len(r.failed), r.notRun)

	if r.passed+len(r.failed) == 0 {
		out.WriteString(": no test has such a name")
	}

	return out.String()
}

// suite is the part of ginkgo's JSON report that is read.
type suite struct {
	SuiteSucceeded bool
	SpecReports    []spec
}

type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	Failure                 struct{ Message string }
}

func (s spec) name() string {
	return strings.TrimSpace(strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " "))
}

// readReport counts the tests in ginkgo's JSON report.
func readReport(in io.Reader) (result, error) {
	var suites []suite

	if err := json.NewDecoder(in).Decode(&suites); err != nil {
		return result{}, fmt.Errorf("read report: %w", err)
	}

	if len(suites) == 0 {
		return result{}, errors.New("read report: it has no suite")
	}

	r := result{succeeded: true}

	for _, suite := range suites {
		r.succeeded = r.succeeded && suite.SuiteSucceeded

		for _, s := range suite.SpecReports {
			r.count(s)
		}
	}

	return r, nil
}

// count adds one entry. Entries that are not tests, such as the setup of all tests, count only when they fail.
func (r *result) count(s spec) {
	test := s.LeafNodeType == "It"

	switch s.State {
	case "passed":
		if test {
			r.passed++
		}
	case "skipped", "pending":
		if test {
			r.notRun++
		}
	default: // failed, panicked, timedout, aborted, interrupted
		name := s.name()
		if name == "" {
			name = s.LeafNodeType
		}

		r.failed = append(r.failed, failure{name, s.State + ": " + s.Failure.Message})
	}
}
