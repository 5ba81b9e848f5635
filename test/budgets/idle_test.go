// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/test/cluster"
	"github.com/seed-59268b81/talos/test/host"
)

const (
	// systemLimit is for the private memory of all processes of a control plane in a container, except Kubernetes' own.
	systemLimit = 150 << 20
	// busyLimit is for the processor time of machined, apid, trustd and discoveryd together, in percent of a core.
	busyLimit = 1.0
	// carriedLimit is for the private memory of discoveryd, in addition to that of trustd, which is of the same form and holds nothing.
	carriedLimit = 5 << 20
	// calmTime is how long a new cluster takes to become idle, idleTime how long it is measured.
	calmTime = time.Minute
	idleTime = time.Minute
)

// kubernetes are the programs of Kubernetes, its database and its pods. Everything else in a machine is the system:
// machined, apid, trustd, discoveryd, containerd and its shim for each pod.
var kubernetes = []string{
	"etcd", "kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "flanneld", "coredns", "pause",
}

// process is the cost of a process of the system.
type process struct {
	program string
	// private is memory that only this process has and that no file backs, also when it is swapped out. Program files are
	// not counted: all machines of this computer map the same ones, and the kernel drops them when it needs memory.
	private int
	// pss is all mapped memory, with shared memory divided among its users.
	pss int
	// busy is the processor time.
	busy time.Duration
}

// idle measures the idle machine whose first process has this id on this computer.
func idle(t *testing.T, first int) {
	t.Helper()
	time.Sleep(calmTime) // until the machine is idle

	before, start := systemOf(t, first), time.Now()

	time.Sleep(idleTime)

	after, passed := systemOf(t, first), time.Since(start)

	report("\nan idle control plane in a container, without Kubernetes' own processes\n")

	var all process

	for _, p := range sums(after) {
		report("%10s private %10s PSS   %s", mib(p.private), mib(p.pss), p.program)

		all.private, all.pss = all.private+p.private, all.pss+p.pss
	}

	report("%10s private %10s PSS   all of them; private: of %s", mib(all.private), mib(all.pss), mib(systemLimit))

	if all.private > systemLimit {
		t.Errorf("private memory of the system: got %s, want at most %s", mib(all.private), mib(systemLimit))
	}

	if carried, least := privateOf(after, "discoveryd"), privateOf(after, "trustd"); carried > least+carriedLimit {
		t.Errorf("private memory of discoveryd: got %s, want at most the %s of trustd and %s", mib(carried), mib(least), mib(carriedLimit))
	}

	busy, err := busyOf(before, after, "machined", "apid", "trustd", "discoveryd")
	if err != nil {
		t.Fatal(err)
	}

	percent := 100 * busy.Seconds() / passed.Seconds()
	report("%8.2f %%  of %.0f %%  of a core, machined, apid, trustd and discoveryd together, over %.0f s", percent, busyLimit, passed.Seconds())

	if percent > busyLimit {
		t.Errorf("machined, apid, trustd and discoveryd: got %.2f %% of a core, want at most %.0f %%", percent, busyLimit)
	}
}

// privateOf returns the private memory of a program's processes.
func privateOf(all map[int]process, program string) (sum int) {
	for _, p := range all {
		if p.program == program {
			sum += p.private
		}
	}

	return sum
}

// busyOf returns the processor time, between two measurements, of programs that each have one process all the time.
func busyOf(before, after map[int]process, programs ...string) (time.Duration, error) {
	var (
		busy time.Duration
		errs []error
	)

	for _, program := range programs {
		same := 0

		for pid, p := range after {
			if b, ok := before[pid]; ok && p.program == program && b.program == program {
				busy += p.busy - b.busy
				same++
			}
		}

		if same != 1 {
			errs = append(errs, fmt.Errorf("%s: got %d processes that ran all the time, want 1", program, same))
		}
	}

	return busy, errors.Join(errs...)
}

// sums adds up the processes of each program, the largest first.
func sums(all map[int]process) []process {
	byProgram, count := map[string]process{}, map[string]int{}

	for _, p := range all {
		sum := byProgram[p.program]
		sum.private, sum.pss = sum.private+p.private, sum.pss+p.pss
		byProgram[p.program] = sum
		count[p.program]++
	}

	var sorted []process

	for program, sum := range byProgram {
		sum.program = program
		if n := count[program]; n > 1 {
			sum.program += fmt.Sprintf(" (%d)", n)
		}

		sorted = append(sorted, sum)
	}

	slices.SortFunc(sorted, func(a, b process) int { return b.private - a.private })

	return sorted
}

// systemOf returns the processes of a machine that are not Kubernetes', by their ids on this computer.
func systemOf(t *testing.T, first int) map[int]process {
	t.Helper()

	running, err := host.Descendants(first)
	if err != nil {
		t.Fatal(err)
	}

	all := map[int]process{}

	// The first process calls itself init.
	for _, p := range append(running, host.Process{PID: first, Line: "machined"}) {
		words := strings.Fields(p.Line)
		if len(words) == 0 || slices.Contains(kubernetes, path.Base(words[0])) {
			continue
		}

		found, err := costOf(p.PID)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) { // it has ended
			continue
		}

		if err != nil {
			t.Fatal(err)
		}

		found.program = path.Base(words[0])
		all[p.PID] = found
	}

	// A program that is not found would be within every limit.
	for _, program := range []string{"machined", "apid", "trustd", "discoveryd", "containerd", "containerd-shim-runc-v2"} {
		if !slices.ContainsFunc(slices.Collect(maps.Values(all)), func(p process) bool { return p.program == program }) {
			t.Fatalf("%s is not among the machine's processes: %v", program, running)
		}
	}

	return all
}

// costOf returns the cost of a process.
func costOf(pid int) (process, error) {
	memory, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return process{}, err
	}

	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}

	anonymous, err := cluster.StatusKiB(string(memory), "Anonymous")
	swapped, errSwap := cluster.StatusKiB(string(memory), "Swap")
	pss, errPss := cluster.StatusKiB(string(memory), "Pss")
	busy, errStat := processorTime(string(stat))

	return process{private: (anonymous + swapped) << 10, pss: pss << 10, busy: busy}, errors.Join(err, errSwap, errPss, errStat)
}

// processorTime adds fields 14 and 15 of proc_pid_stat(5). The name before them may contain any character.
func processorTime(stat string) (time.Duration, error) {
	const tick = time.Second / 100 // USER_HZ

	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("process status %.60q has too few fields", stat)
	}

	user, err := strconv.Atoi(fields[11])
	system, errSystem := strconv.Atoi(fields[12])

	return time.Duration(user+system) * tick, errors.Join(err, errSystem)
}

// TestCost measures this process.
func TestCost(t *testing.T) {
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
	}

	got, err := costOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}

	if got.private < 1<<20 || got.pss < got.private/2 || got.busy <= 0 || got.busy > time.Hour {
		t.Errorf("got %+v, want some MiB and some milliseconds", got)
	}

	if _, err := costOf(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no process: got %v, want that it does not exist", err)
	}
}

func TestBusyOf(t *testing.T) {
	before := map[int]process{1: {program: "machined", busy: time.Second}, 5: {program: "apid"}, 6: {program: "containerd"}}
	after := map[int]process{1: {program: "machined", busy: 3 * time.Second}, 5: {program: "apid", busy: time.Second}, 6: {program: "containerd", busy: time.Hour}}

	if got, err := busyOf(before, after, "machined", "apid"); err != nil || got != 3*time.Second {
		t.Errorf("got %s, %v, want 3s", got, err)
	}

	delete(before, 5) // it was started again

	if _, err := busyOf(before, after, "machined", "apid"); err == nil {
		t.Error("of a program that was started again: got no error")
	}
}

func TestPrivateOf(t *testing.T) {
	all := map[int]process{1: {program: "trustd", private: 3}, 5: {program: "shim", private: 1}, 6: {program: "shim", private: 2}}
	if got := privateOf(all, "shim"); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

func TestSums(t *testing.T) {
	got := sums(map[int]process{1: {program: "machined", private: 3, pss: 4}, 5: {program: "shim", private: 1, pss: 2}, 6: {program: "shim", private: 1, pss: 2}})
	if len(got) != 2 || got[0].program != "machined" || got[1] != (process{program: "shim (2)", private: 2, pss: 4}) {
		t.Errorf("got %+v, want machined, then two of shim in one", got)
	}
}
