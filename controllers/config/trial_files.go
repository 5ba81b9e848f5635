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

// The files of a trial in STATE, beside the stored configuration: the one that is tried, the one that is to take its place, and, while a
// commit replaces the stored one, that.
const (
	candidateName = "config.trial.yaml"
	nextName      = "config.next.yaml"
	beforeName    = "config.before.yaml"
)

// keepCandidate writes the configuration that is to be tried. The one with the digest keep stays too: until the record names the new one, a boot
// may need it.
func (s store) keepCandidate(cfg *config.Config, keep string) error {
	name := candidateName

	if text, err := s.read(candidateName); keep != "" && err == nil && text != nil && config.Digest(text) == keep {
		name = nextName
	}

	return s.write(name, cfg.Bytes())
}

// candidate reads the configuration that is tried, which must have the digest.
func (s store) candidate(digest string) (*config.Config, error) {
	found := candidateName + " is missing"

	for _, name := range []string{candidateName, nextName} {
		text, err := s.read(name)
		if err != nil {
			return nil, err
		}

		if text == nil {
			continue
		}

		got := config.Digest(text)
		if got == digest {
			return access.DecodeStored(text)
		}

		found = name + " is another configuration: " + got
	}

	return nil, fmt.Errorf("the configuration %s is not in STATE: %s", digest, found)
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
func (s store) forgetCandidate() error {
	return errors.Join(s.remove(candidateName), s.remove(nextName))
}
func (s store) forgetTrial() error { return errors.Join(s.forgetCandidate(), s.remove(beforeName)) }

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
