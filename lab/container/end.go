// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/lab/machine"
)

// crashPause is how long a machine stays down after its process 1 crashed, so that repeated crashes do not use up this
// computer's processors.
const crashPause = 3 * time.Second

// end is how process 1 ended and what follows.
type end struct {
	why   string
	again bool
	pause time.Duration
}

// judge returns what the machine does next, from the button's actions and the end of process 1. As a kernel whose
// process 1 ends panics and is reset, so the machine boots again.
func judge(cut, reset bool, err error) end {
	status := endedBy(err)

	switch {
	case cut:
		return end{why: machine.PowerCut}
	case reset:
		return end{why: "reset", again: true}
	case status.Signal() == syscall.SIGHUP:
		return end{why: "the guest rebooted", again: true}
	case status.Signal() == syscall.SIGINT:
		return end{why: "the guest powered off"}
	case status.Signal() == syscall.SIGKILL:
		return end{why: "process 1 was killed, by a user or for lack of memory"}
	case status.Signaled():
		return end{why: "process 1 crashed: " + status.Signal().String(), again: true, pause: crashPause}
	}

	return end{why: fmt.Sprintf("process 1 ended with exit code %d", status.ExitStatus()), again: true, pause: crashPause}
}

// endedBy returns the status with which a process ended.
func endedBy(err error) syscall.WaitStatus {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok {
			return status
		}
	}

	return 0
}
