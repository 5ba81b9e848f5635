// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processOf returns the process at the other end, and a function that reports whether it still lives. While it does, its id
// cannot be reused. The function is called once. option is SO_PEERPIDFD.
//
// A kernel before 6.5 does not know the option. There the descriptor is opened by the process's id, and the process must not have
// started after the connection was accepted: an id that was reused between both is refused.
func processOf(socket syscall.Conn, option int) (p Process, lives func() bool, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return Process{}, nil, fmt.Errorf("peer credentials: %w", err)
	}

	accepted, err := sinceBoot()
	if err != nil {
		return Process{}, nil, fmt.Errorf("peer credentials: %w", err)
	}

	var (
		cred      *unix.Ucred
		opt, none error
		pidfd     int
	)

	err = raw.Control(func(fd uintptr) {
		cred, opt = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		pidfd, none = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, option)
	})
	if err = errors.Join(err, opt); err != nil {
		if none == nil && opt != nil {
			unix.Close(pidfd)
		}

		return Process{}, nil, fmt.Errorf("peer credentials: %w", err)
	}

	p = Process{PID: int(cred.Pid), UID: cred.Uid, GID: cred.Gid}
	byID := errors.Is(none, unix.ENOPROTOOPT)

	if byID {
		pidfd, none = unix.PidfdOpen(p.PID, 0)
	}

	return p, func() bool {
		if none != nil {
			return false // it ended and was reaped
		}
		defer unix.Close(pidfd)

		if byID && !startedBy(p.PID, accepted) {
			return false
		}

		return unix.PidfdSendSignal(pidfd, 0, nil, 0) == nil
	}, nil
}

// tick is the unit of the kernel's start times, USER_HZ.
const tick = time.Second / 100

// startedBy reports whether a process has started by a time after the start of the kernel.
func startedBy(pid int, limit time.Duration) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false // it ended
	}

	started, err := startOf(text)

	return err == nil && started <= limit
}

// startOf returns when a process started, after the start of the kernel, by its file stat in /proc. It is rounded down to a tick.
func startOf(stat []byte) (time.Duration, error) {
	// The name of the program, the second field, may contain anything; the state, the third one, follows the last parenthesis.
	const (
		first = 3
		start = 22
	)

	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= start-first {
		return 0, fmt.Errorf("start of a process: got %d fields from the third one on, want at least %d: %.100q", len(fields), start-first+1, stat)
	}

	ticks, err := strconv.ParseInt(string(fields[start-first]), 10, 64)
	if err != nil || ticks < 0 {
		return 0, fmt.Errorf("start of a process: got %.40q, want ticks", fields[start-first])
	}

	return time.Duration(ticks) * tick, nil
}

// sinceBoot returns the time since the start of the kernel.
func sinceBoot() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, fmt.Errorf("time since the start: %w", err)
	}

	return time.Duration(ts.Nano()), nil
}
