// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/pressure"
)

// realMemory is the memory of this machine.
type realMemory struct{}

func (realMemory) Sample() (pressure.Sample, error) { return pressure.Read("/proc") }

func (realMemory) Pods() ([]pressure.Pod, error) { return pressure.Pods(cgroup.Mount) }

func (realMemory) Usages() map[pressure.Class]pressure.Usage { return pressure.Usages(cgroup.Mount) }

// maxProcesses is how many processes of a pod are listed.
const maxProcesses = 100

func (realMemory) Kill(pod pressure.Pod) ([]string, error) {
	processes := processesOf(cgroup.Mount, "/proc", pod.Path)

	return processes, cgroup.Tree{Root: cgroup.Mount}.Kill(pod.Path)
}

// processesOf returns the processes of a cgroup and of those below it, as far as they can be read.
func processesOf(cgroups, proc, path string) []string {
	var processes []string

	_ = filepath.WalkDir(filepath.Join(cgroups, path), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "cgroup.procs" {
			return nil // a container has ended meanwhile
		}

		pids, _ := os.ReadFile(name)

		for _, pid := range strings.Fields(string(pids)) {
			if len(processes) == maxProcesses {
				return fs.SkipAll
			}

			comm, _ := os.ReadFile(filepath.Join(proc, pid, "comm"))
			processes = append(processes, fmt.Sprintf("%s %s", pid, strings.TrimSpace(string(comm))))
		}

		return nil
	})

	return processes
}
