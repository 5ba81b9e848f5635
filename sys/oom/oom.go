// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package oom knows which scores of the kernel's OOM killer this process may give to another. A lower one than its own
// takes CAP_SYS_RESOURCE in the initial user namespace, which a machine in a container may lack: writing it is refused,
// and a runtime of containers that is asked to do so does not start the container.
package oom

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/capability"
)

// Allowed returns the score itself, or the lowest that may be set if that is higher: above 0 too, where a session of the
// host has raised the score of all that it starts.
func Allowed(score int) int { return max(score, lowest()) }

// minScore of the kernel (OOM_SCORE_ADJ_MIN).
const minScore = -1000

// lowest is not found by trying: what is started meanwhile would inherit the score.
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
