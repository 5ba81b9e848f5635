// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"time"

	"github.com/prometheus/procfs"
)

const (
	// slowFactor is how many times more health checks of a busy process may fail in a row than of an idle one: on a computer whose
	// processors are overloaded a process that works is late, and a restart makes it later.
	slowFactor = 4
	// busyShare of a processor's time makes a process busy.
	busyShare = 0.05
)

// usage is the processor time that a process had used at some time.
type usage struct {
	at      time.Time
	seconds float64
	ok      bool
}

// usageOf reads the processor time of all threads of a process (proc_pid_stat(5)). It is unknown for a process that has ended, and for
// a service without a process.
func usageOf(pid int) usage {
	u := usage{at: time.Now()}
	if pid <= 0 {
		return u
	}

	proc, err := procfs.NewProc(pid)
	if err != nil {
		return u
	}

	stat, err := proc.Stat()
	if err != nil {
		return u
	}

	u.seconds, u.ok = stat.CPUTime(), true

	return u
}

// busySince reports whether the process has used the processor since then: it may be slow, but does not wait for something that never
// comes.
func (u usage) busySince(before usage) bool {
	return u.ok && before.ok && u.seconds-before.seconds >= busyShare*u.at.Sub(before.at).Seconds()
}
