// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filetree

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// ErrNoAnswer means that a file system did not report its usage in time.
var ErrNoAnswer = errors.New("the file system does not answer")

const statfsTimeout = 2 * time.Second

// Statfs returns the usage of a file system.
func Statfs(ctx context.Context, path string) (*unix.Statfs_t, error) {
	if err := calls.enter(ctx); err != nil {
		return nil, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}

	ctx, cancel := context.WithTimeoutCause(ctx, statfsTimeout, ErrNoAnswer)
	defer cancel()

	st := &unix.Statfs_t{}

	done := guard.Go(func() error {
		defer calls.leave()

		return unix.Statfs(path, st)
	})

	select {
	case err := <-done:
		if err != nil {
			return nil, &fs.PathError{Op: "statfs", Path: path, Err: err}
		}

		return st, nil
	case <-ctx.Done():
		return nil, &fs.PathError{Op: "statfs", Path: path, Err: context.Cause(ctx)}
	}
}
