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
	// stoppedInterval is how often a process is looked at.
	stoppedInterval = time.Second
	// stoppedTimes is how often in a row it is found stopped before it is taken for hung: somebody may go on with it at once.
	stoppedTimes = 3
)

// watchStopped ends the run of a process that a signal has stopped (SIGSTOP): nothing of the machine does that, and it does
// not go on by itself. What is traced by a debugger is left alone. The health check would find out too, but it has to have
// patience with what is slow.
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

// isStopped reads the state of a process (proc_pid_stat(5)); it is behind the name, in which anything may stand.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}

	return bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T"))
}
