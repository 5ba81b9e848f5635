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
)

// Allowed returns the score itself, or the lowest that may be set if that is higher.
func Allowed(score int) int {
	if score >= 0 {
		return score
	}

	return max(score, lowest())
}

// lowest is found by writing: the kernel knows who may lower a score, and in which namespace.
var lowest = sync.OnceValue(func() int { return probe("/proc/self/oom_score_adj") })

// minScore of the kernel (OOM_SCORE_ADJ_MIN).
const minScore = -1000

func probe(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}

	own, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}

	if err := os.WriteFile(path, []byte(strconv.Itoa(minScore)), 0); err != nil {
		return own
	}

	if err := os.WriteFile(path, text, 0); err != nil {
		return own
	}

	return minScore
}
