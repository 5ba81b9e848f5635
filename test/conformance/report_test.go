// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/artifact"
)

func TestReadReport(t *testing.T) {
	const (
		passed  = `{"LeafNodeType":"It","State":"passed","ContainerHierarchyTexts":["[sig-node] Pods"],"LeafNodeText":"should be updated [Conformance]"}`
		skipped = `{"LeafNodeType":"It","State":"skipped","LeafNodeText":"x"}`
		pending = `{"LeafNodeType":"It","State":"pending","LeafNodeText":"x"}`
		failed  = `{"LeafNodeType":"It","State":"failed","ContainerHierarchyTexts":["[sig-network] DNS"],"LeafNodeText":"resolves","Failure":{"Message":"timed out\nstack"}}`
		timed   = `{"LeafNodeType":"It","State":"timedout","LeafNodeText":"hangs","Failure":{"Message":"after 1h"}}`
		before  = `{"LeafNodeType":"SynchronizedBeforeSuite","State":"failed","Failure":{"Message":"no API server"}}`
		setup   = `{"LeafNodeType":"SynchronizedBeforeSuite","State":"passed"}`
	)

	for name, test := range map[string]struct {
		succeeded, specs string
		want             string
		good             bool
	}{
		"all pass":     {"true", setup + "," + passed + "," + skipped, "1 passed, 0 failed, 1 not run", true},
		"pending":      {"true", passed + "," + pending, "1 passed, 0 failed, 1 not run", true},
		"one fails":    {"false", passed + "," + failed, "failed: [sig-network] DNS resolves: failed: timed out\n1 passed, 1 failed, 0 not run", false},
		"one hangs":    {"false", timed, "failed: hangs: timedout: after 1h\n0 passed, 1 failed, 0 not run", false},
		"no cluster":   {"false", before + "," + skipped, "failed: SynchronizedBeforeSuite: failed: no API server\n0 passed, 1 failed, 1 not run", false},
		"none chosen":  {"true", setup + "," + skipped, "0 passed, 0 failed, 1 not run: no test has such a name", false},
		"word against": {"false", passed, "1 passed, 0 failed, 0 not run", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readReport(strings.NewReader(`[{"SuiteSucceeded":` + test.succeeded + `,"SpecReports":[` + test.specs + `]}]`))
			if err != nil {
				t.Fatal(err)
			}

			if got.String() != test.want || got.good() != test.good {
				t.Errorf("got %q, good %v; want %q, %v", got, got.good(), test.want, test.good)
			}
		})
	}

	for _, broken := range []string{"", "[]", "{", `[{"SpecReports":7}]`} {
		if _, err := readReport(strings.NewReader(broken)); err == nil {
			t.Errorf("report %q: got no error", broken)
		}
	}
}

func FuzzReadReport(f *testing.F) {
	f.Add(`[{"SuiteSucceeded":true,"SpecReports":[{"LeafNodeType":"It","State":"passed"}]}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := readReport(strings.NewReader(raw))
		if err == nil && r.good() && r.passed == 0 {
			t.Errorf("%q is good without a test that passed", raw)
		}
	})
}

func TestArguments(t *testing.T) {
	o := options{kubeconfig: "/k", kubectl: "/kubectl", out: "/o", focus: "DNS", skip: "Slow", dryRun: true}
	got := strings.Join(o.arguments(), " ")

	for _, want := range []string{
		"--kubeconfig=/k ", "--kubectl-path=/kubectl ", "--report-dir=/o ", "--ginkgo.json-report=/o/report.json ",
		"--ginkgo.focus=DNS ", "--ginkgo.skip=Slow ", "--ginkgo.dry-run",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("arguments: got %s; want %s in them", got, want)
		}
	}

	o.skip, o.focus, o.dryRun = "", "", false

	if got := strings.Join(o.arguments(), " "); strings.Contains(got, "skip=") || strings.Contains(got, "dry-run") ||
		!strings.Contains(got, short[0]) {
		t.Errorf("arguments without a choice: got %s; want the short set and no other", got)
	}
}

func TestRunNeedsACluster(t *testing.T) {
	for name, o := range map[string]options{
		"none named": {out: t.TempDir()},
		"not there":  {out: t.TempDir(), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")},
	} {
		if _, err := run(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), "no cluster") {
			t.Errorf("%s: got %v, want an error about the cluster", name, err)
		}
	}
}

// A run of a program that ends before its report must not count the report of an earlier run.
func TestRunWithoutAReport(t *testing.T) {
	dir := t.TempDir()
	o := options{program: "/bin/false", kubeconfig: dir, out: dir}

	if err := os.WriteFile(o.reportPath(), []byte(`[{"SuiteSucceeded":true,"SpecReports":[{"LeafNodeType":"It","State":"passed"}]}]`), 0o644); err != nil {
		t.Fatal(err)
	}

	if r, err := run(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), "left no report") {
		t.Errorf("got %v, %v; want an error that there is no report", r, err)
	}
}

// The short set is chosen by the real program, if it is built: each name must be a test's.
func TestShortSetNamesTests(t *testing.T) {
	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	program := built.Component("e2e.test")
	if _, err := os.Stat(program); err != nil {
		t.Skip("not built; run make conformance")
	}

	dir := t.TempDir()
	o := options{program: program, kubeconfig: filepath.Join(dir, "none"), kubectl: "kubectl", out: dir, dryRun: true}

	got, err := run(context.WithoutCancel(t.Context()), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}

	raw, err := os.ReadFile(o.reportPath())
	if err != nil {
		t.Fatal(err)
	}

	chosen := passedNames(t, string(raw))
	for _, name := range short {
		if matches := regexp.MustCompile(name+`.*\[Conformance\]`).FindAllString(chosen, -1); len(matches) != 1 {
			t.Errorf("%q: got %d tests, want 1: %q", name, len(matches), matches)
		}
	}

	if got.passed != len(short) {
		t.Errorf("got %d tests, want one for each of %d names:\n%s", got.passed, len(short), chosen)
	}
}

// passedNames are the names of the tests that passed, one a line.
func passedNames(t *testing.T, raw string) string {
	t.Helper()

	var (
		names  strings.Builder
		suites []suite
	)

	if err := json.Unmarshal([]byte(raw), &suites); err != nil {
		t.Fatal(err)
	}

	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			if s.LeafNodeType == "It" && s.State == "passed" {
				names.WriteString(s.name() + "\n")
			}
		}
	}

	return names.String()
}
