// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filetree

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// ErrBusy is too many questions at once that file systems do not answer.
var ErrBusy = errors.New("too many file systems that do not answer are being waited for; unmount those whose server is gone")

// A question to a file system whose server is gone holds a thread for as long as that lasts, whatever its caller does
// meanwhile; and a program with too many threads is ended. So few may ask at once.
var questions = make(gate, 256)

// patience is how long a question waits for its turn.
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

// ask has one question answered.
func ask[T any](ctx context.Context, path string, question func() (T, error)) (T, error) {
	if err := questions.enter(ctx); err != nil {
		var none T

		return none, &fs.PathError{Op: "ask for", Path: path, Err: err}
	}
	defer questions.leave()

	return question()
}
