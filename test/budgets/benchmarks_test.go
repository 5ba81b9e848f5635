// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// benchmarks runs those of a package whose names match, and returns a function that reads a figure: the median of the runs.
func benchmarks(t *testing.T, folder, names string, options ...string) func(benchmark, unit string) float64 {
	t.Helper()

	text, err := goTest(t, append(append([]string{"-run", "^$", "-bench", names, "-timeout", "30m"}, options...), folder)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}

	return func(benchmark, unit string) float64 {
		t.Helper()

		values := figuresOf(text, benchmark, unit)
		if len(values) == 0 {
			t.Fatalf("no %s of %s in\n%s", unit, benchmark, text)
		}

		slices.Sort(values)

		return values[len(values)/2]
	}
}

// goTest runs go test in the repository's folder, and returns its output.
func goTest(t *testing.T, args ...string) (string, error) {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")

	text, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w", cmd, err)
	}

	return string(text), err
}

// figuresOf returns a figure of each run in the output of benchmarks.
func figuresOf(text, benchmark, unit string) (values []float64) {
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(benchmark) + `(?:-\d+)?\s.*?(\d\S*) ` + regexp.QuoteMeta(unit) + `(?:\s|$)`)

	for _, found := range line.FindAllStringSubmatch(text, -1) {
		if value, err := strconv.ParseFloat(found[1], 64); err == nil {
			values = append(values, value)
		}
	}

	return values
}

func TestFiguresOf(t *testing.T) {
	const text = "goos: linux\n" +
		"BenchmarkJoin/1000-2 \t 5\t 12.77 cpu-ms/join\t 420.9 ms/p99\t 55.80 ms/p99-best\n" +
		"BenchmarkJoin/1000-2 \t 5\t 1e+02 cpu-ms/join\t 0.5 ms/p99\n" +
		"BenchmarkJoin/10000 \t 5\t 9 cpu-ms/join\n"

	for _, tt := range []struct {
		benchmark, unit string
		want            []float64
	}{
		{"BenchmarkJoin/1000", "ms/p99", []float64{420.9, 0.5}},
		{"BenchmarkJoin/1000", "cpu-ms/join", []float64{12.77, 100}},
		{"BenchmarkJoin/10000", "cpu-ms/join", []float64{9}},
		{"BenchmarkJoin", "cpu-ms/join", nil},
		{"BenchmarkJoin/1000", "ms", nil},
	} {
		if got := figuresOf(text, tt.benchmark, tt.unit); !slices.Equal(got, tt.want) {
			t.Errorf("%s of %s: got %v, want %v", tt.unit, tt.benchmark, got, tt.want)
		}
	}
}

// logged returns the messages with a phrase in the output of tests.
func logged(text, phrase string) (messages []string) {
	for line := range strings.Lines(text) {
		if _, message, ok := strings.Cut(line, "_test.go:"); ok && strings.Contains(message, phrase) {
			_, message, _ = strings.Cut(message, ": ")
			messages = append(messages, strings.TrimSpace(message))
		}
	}

	return messages
}

func TestLogged(t *testing.T) {
	const text = "    other.go:80: === RUN   TestX\n" +
		"            x_test.go:7: best of 2 rounds: 3 ms\n" +
		"    x_test.go:8: nothing\r\n" +
		"    x_test.go:9: 5 ms, best of 3\r\n"

	if got, want := logged(text, "best of"), []string{"best of 2 rounds: 3 ms", "5 ms, best of 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
