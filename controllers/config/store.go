// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/access"
	"github.com/seed-59268b81/talos/durable"
)

// fileName of the configuration in STATE.
const fileName = "config.yaml"

// accessName is the file in STATE that has the authorities of the API. It is written with each configuration, and read when the
// configuration cannot be decoded.
const accessName = "access.yaml"

// unusableName is the file in STATE that has the last configuration that this version could not use, when another has taken its place.
const unusableName = "config.unusable.yaml"

// filesystem is the store's access to the disk; a test cuts the power between any two calls.
type filesystem interface {
	ReadFile(path string) ([]byte, error)
	Remove(path string) error
	durable.Disk
}

// store keeps the configuration in a folder.
type store struct {
	fs  filesystem
	dir string
}

// load returns the text, nil when there is none.
func (s store) load() ([]byte, error) { return s.read(fileName) }

// save replaces the text. It writes the file of access first, so that no stored configuration is without one. A text that cannot be used, which
// another version may have stored, is kept.
func (s store) save(cfg *config.Config) error {
	if err := s.keepUnusable(); err != nil {
		return err
	}

	if err := s.saveAccess(cfg); err != nil {
		return err
	}

	return s.write(fileName, cfg.Bytes())
}

func (s store) keepUnusable() error {
	text, err := s.load()
	if err != nil || text == nil {
		return nil // there is nothing that could be kept
	}

	if _, err := access.DecodeStored(text); err == nil {
		return nil
	}

	return s.write(unusableName, text)
}

// saveAccess writes the file of access, if it differs.
func (s store) saveAccess(cfg *config.Config) error {
	text, err := access.Encode(cfg)
	if err != nil {
		return err
	}

	if present, err := s.read(accessName); err == nil && bytes.Equal(present, text) {
		return nil
	}

	return s.write(accessName, text)
}

// find returns the stored configuration, or nil without an error when there was never one. With an error there was one that cannot be
// used; then reachable is what is known of its administrators, or nil.
func (s store) find() (cfg, reachable *config.Config, err error) {
	text, err := s.load()
	if err == nil && text == nil {
		// The disk may have lost the configuration: a machine that was configured once stays closed.
		if kept, accessErr := s.read(accessName); kept == nil && accessErr == nil {
			return nil, nil, nil
		}

		err = fmt.Errorf("%s is missing", fileName)
	}

	if err == nil {
		if cfg, err = access.DecodeStored(text); err == nil {
			return cfg, nil, nil
		}
	}

	reachable, accessErr := s.access(text)

	return nil, reachable, errors.Join(err, accessErr)
}

// access returns what is known of the administrators: from the file of access, or else from a text that cannot be decoded.
func (s store) access(text []byte) (*config.Config, error) {
	kept, err := s.read(accessName)
	if err == nil && kept == nil {
		err = errors.New("it is missing")
	}

	if err == nil {
		var cfg *config.Config
		if cfg, err = access.Decode(kept); err == nil {
			return cfg, nil
		}
	}

	cfg, salvageErr := access.Salvage(text)
	if salvageErr != nil {
		return nil, fmt.Errorf("%s: %w; %w", accessName, err, salvageErr)
	}

	return cfg, nil
}

func (s store) read(name string) ([]byte, error) {
	text, err := s.fs.ReadFile(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the stored configuration: %w", err)
	}

	return text, nil
}

func (s store) write(name string, text []byte) error {
	if err := durable.WriteTo(s.fs, filepath.Join(s.dir, name), text, 0o600); err != nil {
		return fmt.Errorf("store the configuration: %w", err)
	}

	return nil
}

// disk is the real filesystem.
type disk struct{ durable.Files }

// ReadFile implements filesystem.
func (disk) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// Remove implements filesystem.
func (disk) Remove(path string) error { return os.Remove(path) }
