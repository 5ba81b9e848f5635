// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package oom returns which scores of the kernel's OOM killer this process may give to another. A score lower than its own needs
// CAP_SYS_RESOURCE in the initial user namespace, which a machine in a container may lack: then the kernel refuses the write, and a
// container runtime does not start the container.
package oom

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/capability"
)

// Allowed returns the score itself, or the lowest allowed score if that is higher. It may be above 0, if a session of the host raised
// the score of all that it starts.
func Allowed(score int) int { return max(score, lowest()) }

// minScore of the kernel (OOM_SCORE_ADJ_MIN).
const minScore = -1000

// lowest is not found by setting scores: a process started at that moment would inherit the score.
var lowest = sync.OnceValue(func() int {
	rights, err := capability.Own()
	if err != nil {
		return 0
	}

	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return 0
	}

	return lowestOf(rights, string(own))
})

// lowestOf is the lowest score that a process with the rights and a score of its own may set.
func lowestOf(rights capability.Rights, own string) int {
	if rights.Computer(unix.CAP_SYS_RESOURCE) {
		return minScore
	}

	score, err := strconv.Atoi(strings.TrimSpace(own))
	if err != nil {
		return 0
	}

	return score
}
