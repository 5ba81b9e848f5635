// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/access"
)

// The files of a trial in STATE, beside the stored configuration: the one that is tried, and, while a commit replaces the stored one, that.
const (
	candidateName = "config.trial.yaml"
	beforeName    = "config.before.yaml"
)

// keepCandidate writes the configuration that is to be tried.
func (s store) keepCandidate(cfg *config.Config) error { return s.write(candidateName, cfg.Bytes()) }

// candidate reads the configuration that is tried, which must have the digest.
func (s store) candidate(digest string) (*config.Config, error) {
	text, err := s.read(candidateName)
	if err == nil && text == nil {
		err = fmt.Errorf("%s is missing", candidateName)
	}

	if err != nil {
		return nil, err
	}

	if got := config.Digest(text); got != digest {
		return nil, fmt.Errorf("%s is another configuration: %s, want %s", candidateName, got, digest)
	}

	return access.DecodeStored(text)
}

// keepBefore keeps the stored configuration while a commit replaces it. Without one, none is kept.
func (s store) keepBefore(text []byte) error {
	if text == nil {
		return s.remove(beforeName)
	}

	return s.write(beforeName, text)
}

// restoreBefore undoes a commit: it stores what keepBefore kept, and returns it. none is set when there was no configuration before.
func (s store) restoreBefore(none bool) (*config.Config, error) {
	text, err := s.read(beforeName)
	if err != nil {
		return nil, err
	}

	if text == nil {
		if !none {
			return nil, fmt.Errorf("%s is missing", beforeName)
		}

		return nil, errors.Join(s.remove(fileName), s.remove(accessName))
	}

	cfg, err := access.DecodeStored(text)
	if err != nil { // it was not readable before the trial either
		return nil, s.write(fileName, text)
	}

	return cfg, s.save(cfg)
}

// forgetCandidate and forgetTrial remove the files of a trial that is over.
func (s store) forgetCandidate() error { return s.remove(candidateName) }
func (s store) forgetTrial() error     { return errors.Join(s.remove(candidateName), s.remove(beforeName)) }

// remove removes a file, if it exists.
func (s store) remove(name string) error {
	err := s.fs.Remove(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err == nil {
		err = s.fs.SyncDir(s.dir)
	}

	if err != nil {
		return fmt.Errorf("remove %s from STATE: %w", name, err)
	}

	return nil
}
