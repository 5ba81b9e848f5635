// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package reaper collects the orphans that process 1 inherits, as soon as they end, and no other child.
//
// Process 1 also has children of its own, whose exit status somebody waits for (os/exec). The kernel tells them apart: a
// child is that of the thread that started it, and an orphan is given to the first thread of its new parent. So the reaper
// runs on the first thread, on which nothing else runs, and waits for that thread's children only (__WNOTHREAD, wait(2)).
// However late somebody asks for the exit status of a child of their own, it is there.
//
// A thread that ends leaves its children to the first thread too: a goroutine that ends with its thread locked must not
// start a process that somebody waits for.
//
// A registry of children was rejected: every package that starts a program would have to use it. To take every zombie of
// some age, as an earlier version did, loses the exit status of a child whose owner is late, and keeps orphans that long.
package reaper

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

// ErrThread is the error of Run on another thread than the first.
var ErrThread = errors.New("reap orphans: the reaper runs on another thread than the first of the process")

// Run reaps until ctx is done. Only main may call it, with its goroutine locked to its thread since an init function: that
// is the first thread.
func Run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	if unix.Gettid() != os.Getpid() {
		return ErrThread
	}

	// Several that end at once may be one signal, and one that came before this call is none: each look takes all.
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
		case err != nil || pid <= 0: // there are none, or none that has ended
			return
		}
	}
}
