// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// fileName of the configuration in STATE.
const fileName = "config.yaml"

// filesystem is what the store does to a disk; a test cuts the power between any two of these.
type filesystem interface {
	ReadFile(path string) ([]byte, error)
	// WriteSynced writes a new file and returns when its content is on the disk.
	WriteSynced(path string, content []byte) error
	Rename(from, to string) error
	// SyncDir returns when the names in the folder are on the disk.
	SyncDir(path string) error
}

// store keeps the configuration in a folder.
type store struct {
	fs  filesystem
	dir string
}

// load returns the text, nil when there is none.
func (s store) load() ([]byte, error) {
	text, err := s.fs.ReadFile(filepath.Join(s.dir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the stored configuration: %w", err)
	}

	return text, nil
}

// save replaces the text: at any moment the name stands for the old text or the new one, whole.
func (s store) save(text []byte) error {
	path := filepath.Join(s.dir, fileName)

	if err := s.fs.WriteSynced(path+".new", text); err != nil {
		return fmt.Errorf("store the configuration: %w", err)
	}

	if err := s.fs.Rename(path+".new", path); err != nil {
		return fmt.Errorf("store the configuration: %w", err)
	}

	if err := s.fs.SyncDir(s.dir); err != nil {
		return fmt.Errorf("store the configuration: %w", err)
	}

	return nil
}

// setAside keeps a text that cannot be used, so that a person can look at it, and makes room for another.
func (s store) setAside() (string, error) {
	path := filepath.Join(s.dir, fileName)

	if err := s.fs.Rename(path, path+".bad"); err != nil {
		return "", fmt.Errorf("set the stored configuration aside: %w", err)
	}

	return path + ".bad", s.fs.SyncDir(s.dir)
}

// disk is the real filesystem.
type disk struct{}

func (disk) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

func (disk) WriteSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}

	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}

	return errors.Join(err, f.Close())
}

func (disk) Rename(from, to string) error { return os.Rename(from, to) }

func (disk) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}

	return errors.Join(d.Sync(), d.Close())
}
