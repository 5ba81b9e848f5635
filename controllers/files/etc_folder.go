// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/mount"
)

// Folder is /etc, which is read-only. Files are bind-mounted in it.
type Folder interface {
	// Bind bind-mounts a file over the one with a name, and Unbind removes that mount.
	Bind(source, name string) error
	Unbind(name string) error
	// Create makes an empty file that the image does not have, and reports whether it did not exist. Remove removes it.
	Create(name string) (created bool, err error)
	Remove(name string) error
}

const hardened = mount.NoSuid | mount.NoDev | mount.NoExec

// etcFolder is the real /etc. For the first file that the image does not have, an overlay is mounted over it. All mounts in /etc appear
// in the overlay too. It is visible read-only, and changed where it is mounted first.
type etcFolder struct {
	path   string
	layers string
	// extended is set when the overlay is there.
	extended bool
}

// RealEtc returns /etc.
func RealEtc() Folder { return &etcFolder{path: "/etc", layers: layout.EtcLayersDir} }

func (e *etcFolder) Bind(source, name string) error {
	return mount.Bind(source, filepath.Join(e.path, name), hardened)
}

func (e *etcFolder) Unbind(name string) error { return mount.Unmount(filepath.Join(e.path, name)) }

func (e *etcFolder) merged(name string) string { return filepath.Join(e.layers, "merged", name) }

func (e *etcFolder) Create(name string) (bool, error) {
	st, err := os.Stat(filepath.Join(e.path, name))

	switch {
	case err == nil && !st.Mode().IsRegular():
		return false, fmt.Errorf("create /etc/%s: it is not a file", name)
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}

	if err := e.extend(); err != nil {
		return false, fmt.Errorf("create /etc/%s: %w", name, err)
	}

	if err := os.MkdirAll(filepath.Dir(e.merged(name)), 0o755); err != nil {
		return false, err
	}

	return true, os.WriteFile(e.merged(name), nil, 0o644)
}

func (e *etcFolder) Remove(name string) error { return os.Remove(e.merged(name)) }

// extend mounts the overlay.
func (e *etcFolder) extend() error {
	if e.extended {
		return nil
	}

	table, err := mount.Table()
	if err != nil {
		return err
	}

	o := mount.Overlay{
		Lower: e.path, Upper: filepath.Join(e.layers, "upper"), Work: filepath.Join(e.layers, "work"), Merged: e.merged(""), Flags: hardened,
	}
	if err := o.Mount(); err != nil {
		return err
	}

	err = e.cover(table)
	if err != nil {
		return errors.Join(err, mount.Detach(o.Merged))
	}

	e.extended = true

	return nil
}

// cover makes the overlay appear at /etc, with the mounts that are there.
func (e *etcFolder) cover(table []mount.Entry) error {
	for _, m := range table {
		name, inside := strings.CutPrefix(m.Target, e.path+"/")
		if !inside {
			continue
		}

		if err := mount.Bind(m.Target, e.merged(name), 0); err != nil {
			return err
		}
	}

	return mount.BindAll(e.merged(""), e.path, hardened|mount.ReadOnly)
}
