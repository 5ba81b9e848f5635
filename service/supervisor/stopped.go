// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"
)

const (
	// stoppedInterval is the interval of the checks.
	stoppedInterval = time.Second
	// stoppedTimes is the number of checks in a row that find a process stopped before it counts as hung: it may be continued soon.
	stoppedTimes = 3
)

// watchStopped ends the run of a process that was stopped by a signal (SIGSTOP): the machine sends no such signal, and the process does
// not continue by itself. A process that is traced by a debugger is left alone. The health check would find a stopped process too, but
// later, because it must tolerate a slow one.
func watchStopped(ctx context.Context, pid int, hung context.CancelCauseFunc) error {
	ticker := time.NewTicker(stoppedInterval)
	defer ticker.Stop()

	for times := 0; times < stoppedTimes; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}

		if times++; !isStopped(pid) {
			times = 0
		}
	}

	hung(fmt.Errorf("%w: process %d is stopped by a signal", ErrHung, pid))

	return nil
}

// isStopped reports whether a process is stopped (proc_pid_stat(5)). The state follows the name, which may contain any characters.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}

	return bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T"))
}
