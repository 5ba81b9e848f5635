// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/resources/block"
)

// Kept is what a controller is to know at the next boot, in a small file on STATE, in JSON. STATE is requested only while the file is read or
// written, so the controller has Inputs and Output, and destroys requests that a round does not write again.
type Kept[T any] struct {
	// Controller is the finalizer of the grant, and Requester the name in the request.
	Controller, Requester string
	File                  string
	// Max is the greatest size of the file in bytes.
	Max int64

	read  bool
	value T
	text  []byte // of value, as it is written; a file that was written otherwise is written again
}

// Read returns what was kept, or the zero value. It reads the file once; ok is false until STATE is mounted for that. A file that cannot be used is an
// error, once, and as good as none after that.
func (k *Kept[T]) Read(ctx context.Context, rt controller.Runtime) (value T, ok bool, err error) {
	if k.read {
		return k.value, true, nil
	}

	dir, err := k.request(ctx, rt)
	if err != nil || dir == "" {
		return value, false, err
	}

	if k.value, err = k.load(filepath.Join(dir, k.File)); err != nil {
		err = fmt.Errorf("read what was kept on STATE: %w", err)
	}

	k.read = true

	if text, err := json.Marshal(k.value); err == nil {
		k.text = text
	}

	rt.QueueReconcile() // the next round goes on, or releases the volume

	return k.value, true, err
}

// Write keeps a value, or releases STATE if it is the one that is kept. It is called in each round after Read was ok, with what Read returned
// if there is nothing new.
func (k *Kept[T]) Write(ctx context.Context, rt controller.Runtime, value T) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("keep %s on STATE: %w", k.File, err)
	}

	if bytes.Equal(text, k.text) {
		return Release(ctx, rt, k.Controller, k.Requester, block.VolumeState)
	}

	dir, err := k.request(ctx, rt)
	if err != nil || dir == "" {
		return err
	}

	if err := durable.Write(filepath.Join(dir, k.File), text, 0o600); err != nil {
		return fmt.Errorf("keep %s on STATE: %w", k.File, err)
	}

	k.value, k.text = value, text

	rt.QueueReconcile() // the next round releases the volume

	return nil
}

// request requests STATE. No file on it stays open.
func (k *Kept[T]) request(ctx context.Context, rt controller.Runtime) (dir string, err error) {
	return Request(ctx, rt, k.Controller, k.Requester, block.VolumeState, func(context.Context) error { return nil })
}

// load returns the zero value if there is no file.
func (k *Kept[T]) load(path string) (value T, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return value, nil
	}

	if err != nil {
		return value, err
	}
	defer f.Close()

	text, err := io.ReadAll(io.LimitReader(f, k.Max+1))
	if err == nil && int64(len(text)) > k.Max {
		err = fmt.Errorf("%s has more than %d bytes", path, k.Max)
	}

	if err != nil {
		return value, err
	}

	var whole T

	if err := json.Unmarshal(text, &whole); err != nil {
		return value, fmt.Errorf("%s: %w", path, err)
	}

	return whole, nil
}
