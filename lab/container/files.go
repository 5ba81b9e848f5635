// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// RemoveFiles removes the folder of a lab's machines with all files in it. Without root, some files belong to the
// caller's subordinate ids; they are removed in a user namespace with these ids.
func RemoveFiles(dir string) error {
	err := removeEach(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}

	ids, idsErr := FindIDs()
	if ids == nil || idsErr != nil {
		return errors.Join(err, idsErr)
	}

	return removeAs(ids, dir)
}

// removeEach removes the machines' folders in parallel, since to remove their files takes as long as to write them.
func removeEach(dir string) error {
	machines, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return fmt.Errorf("remove the machines: %w", err)
	}

	errs := make([]error, len(machines))

	var all sync.WaitGroup

	for i, m := range machines {
		all.Go(func() { errs[i] = os.RemoveAll(filepath.Join(dir, m.Name())) })
	}

	all.Wait()

	return errors.Join(append(errs, os.RemoveAll(dir))...)
}

// removeAs removes a folder in a user namespace.
func removeAs(ids *IDs, dir string) error {
	p := &process{ended: make(chan error, 1)}

	theirs, err := p.connect()
	if err != nil {
		return err
	}

	err = p.start(theirs, ids)
	_ = theirs.Close()

	if err != nil {
		p.disconnect()

		return err
	}

	if err := ids.apply(p.pid); err != nil {
		p.kill()

		return errors.Join(err, p.wait())
	}

	_, err = p.ask(Spec{Remove: dir, UserNamespace: true}, time.Time{})

	return errors.Join(err, p.wait())
}

// remove is the stage's part of removeAs.
func (s *Spec) remove(lab *net.UnixConn) error {
	if err := s.identity(); err != nil {
		return err
	}

	if err := removeEach(s.Remove); err != nil {
		return err
	}

	if _, err := lab.Write([]byte("{}")); err != nil {
		return fmt.Errorf("report that %s is removed: %w", s.Remove, err)
	}

	return nil
}
