// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filetree

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// ErrBusy means that too many system calls wait for file systems that do not answer.
var ErrBusy = errors.New("too many file systems do not answer: unmount those whose server is down")

// calls limits the system calls that run at once. One to a file system whose server is down holds a thread until the server is
// back, and the Go runtime ends a program with too many threads.
var calls = make(gate, 256)

// patience is how long a call waits for its turn.
const patience = 5 * time.Second

type gate chan struct{}

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	default:
	}

	timer := time.NewTimer(patience)
	defer timer.Stop()

	select {
	case g <- struct{}{}:
		return nil
	case <-timer.C:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) leave() { <-g }

// ask makes one system call.
func ask[T any](ctx context.Context, path string, call func() (T, error)) (T, error) {
	if err := calls.enter(ctx); err != nil {
		var none T

		return none, &fs.PathError{Op: "access", Path: path, Err: err}
	}
	defer calls.leave()

	return call()
}
