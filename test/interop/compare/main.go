// SPDX-License-Identifier: Apache-2.0

// Compare runs the benchmarks of cosi/bench and of test/interop/bench alternately, on one machine in one run, and prints
// the medians side by side. Only the ratios are meaningful; the times depend on the machine.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// aims are the minimum ratios, reference divided by ours, for benchmark and unit.
var aims = []struct {
	name, unit string
	ratio      float64
}{
	{"Get", "ns/op", 3},
	{"GetParallel", "ns/op", 3},
	{"List10k", "ns/op", 50},
	{"List10kChanging", "ns/op", 0},
	{"Create", "ns/op", 1.5},
	{"Update", "ns/op", 1.5},
	{"UpdateWithConflicts", "ns/op", 1.5},
	{"AddRemoveFinalizer", "ns/op", 1.5},
	{"Watchers", "ns/op", 5},
	{"WatchersShared", "ns/op", 5},
	{"UpdateSlowWatchers", "ns/op", 0},
	{"Memory", "B/resource", 1 / 0.6},
	{"MemoryLabelled", "B/resource", 1 / 0.6},
	{"MemoryListed", "B/resource", 0},
	{"MemoryKindOfOne", "B/kind", 10},
	{"MemoryHotKind", "B/kind", 1},
	{"ReconcileLatency", "p50-ns", 0},
	{"ReconcileLatency", "p99-ns", 3},
	{"Startup100k", "ns/op", 10},
	{"Fanout100", "ns/op", 5},
	{"Durable64", "ns/op", 10},
	{"Durable1", "ns/op", 1},
}

func main() {
	count := flag.Int("count", 3, "runs of each benchmark")
	benchtime := flag.String("benchtime", "300ms", "time of a run")
	only := flag.String("only", "", "run only benchmarks that match the regular expression")
	flag.Parse()

	if err := run(*count, *benchtime, *only); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(count int, benchtime, only string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}

	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}

	defer os.RemoveAll(dir)

	ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")

	if err := build(ours, "../..", "./cosi/bench"); err != nil {
		return err
	}

	if err := build(theirs, ".", "./bench"); err != nil {
		return err
	}

	fmt.Printf("%-22s %-11s %14s %14s %8s %6s\n", "benchmark", "unit", "ours", "reference", "ratio", "aim")

	measured := map[string][2]map[string]float64{}

	for _, aim := range aims {
		if !match.MatchString(aim.name) {
			continue
		}

		if _, done := measured[aim.name]; !done {
			//program:built by compile
			both, err := measure(ours, theirs, aim.name, benchtime, count)
			if err != nil {
				return err
			}

			measured[aim.name] = both
		}

		both := measured[aim.name]
		report(aim.name, aim.unit, both[0][aim.unit], both[1][aim.unit], aim.ratio)

		if aim.unit == "ns/op" && both[1]["allocs/op"] > 0 {
			report(aim.name, "B/op", both[0]["B/op"], both[1]["B/op"], 0)
		}
	}

	return nil
}

func report(name, unit string, ours, theirs, aim float64) {
	verdict := ""

	if aim > 0 {
		verdict = fmt.Sprintf("%.1f", aim)
		if theirs < aim*ours {
			verdict += " missed"
		}
	}

	ratio := "-"
	if ours > 0 {
		ratio = fmt.Sprintf("%.2f", theirs/ours)
	}

	fmt.Printf("%-22s %-11s %14.1f %14.1f %8s %6s\n", name, unit, ours, theirs, ratio, verdict)
}

func build(out, dir, pkg string) error {
	cmd := exec.Command("go", "test", "-c", "-o", out, pkg)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr

	return cmd.Run()
}

// measure runs one benchmark of both alternately, and returns the medians by unit.
func measure(ours, theirs, name, benchtime string, count int) (both [2]map[string]float64, err error) {
	var all [2]map[string][]float64

	for range count {
		for i, binary := range []string{ours, theirs} {
			out, err := exec.Command(binary, "-test.run=^$", "-test.bench=^Benchmark"+name+"$", "-test.benchtime="+benchtime).CombinedOutput()
			if err != nil {
				return both, fmt.Errorf("%s: %w\n%s", name, err, out)
			}

			if all[i] == nil {
				all[i] = map[string][]float64{}
			}

			parse(out, all[i])
		}
	}

	for i := range all {
		both[i] = map[string]float64{}

		for unit, values := range all[i] {
			slices.Sort(values)
			both[i][unit] = values[len(values)/2]
		}
	}

	return both, nil
}

// parse reads lines such as "BenchmarkX-2  1000  12.5 ns/op  0 B/op".
func parse(out []byte, into map[string][]float64) {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}

		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				into[fields[i+1]] = append(into[fields[i+1]], v)
			}
		}
	}
}
