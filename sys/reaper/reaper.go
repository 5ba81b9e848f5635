// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package reaper collects the orphans that process 1 inherits as soon as they end, and no other children.
//
// Process 1 also has children of its own, and os/exec waits for their exit status. The kernel distinguishes them: a child belongs to the
// thread that started it, and an orphan to the first thread of its new parent. So the reaper runs on the first thread, on which
// nothing else runs, and waits only for that thread's children (__WNOTHREAD, wait(2)). The exit status of other children remains
// until their owner reads it.
//
// A thread that ends also leaves its children to the first thread. So a goroutine that ends with its thread locked must not start a
// process that another goroutine waits for.
//
// Rejected: a registry of children, which every package that starts a program would have to use; and collecting zombies of some age,
// which loses the exit status of a child whose owner is late, and keeps orphans longer.
package reaper

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

// ErrThread is the error of Run on a thread that is not the first.
var ErrThread = errors.New("reap orphans: the reaper runs on another thread than the first of the process")

// Run reaps until ctx is done. Only main may call it, and an init function must have locked its goroutine to the thread: that is the
// first thread.
func Run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	if unix.Gettid() != os.Getpid() {
		return ErrThread
	}

	// Several children that end at once may cause one signal, and children that ended before cause none. So each pass collects all.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)

	defer signal.Stop(ended)

	for {
		reap()

		select {
		case <-ctx.Done():
			return nil
		case <-ended:
		}
	}
}

// reap collects the children of this thread that have ended.
func reap() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL|unix.WNOTHREAD, nil)

		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || pid <= 0: // there are no children, or none has ended
			return
		}
	}
}
