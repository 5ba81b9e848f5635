// SPDX-License-Identifier: Apache-2.0

// Package evidence keeps the files that explain why a test with machines has failed, before the machines and their folders
// are removed: the consoles of all boots, the logs of QEMU and of the lab, the captures of its networks, and the support
// bundle of machines whose API still answers. They are in one folder, out/failed/TEST, which the test prints last. A test
// that passes leaves none.
//
// Every test that starts machines calls OnFailure after it has registered their removal.
package evidence

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Machines are the machines of a test.
type Machines struct {
	// Dir is the lab's folder.
	Dir string
	// Support returns the command that writes a support bundle to a file; nil where the machines have no API.
	Support func(ctx context.Context, file string) *exec.Cmd
}

// patience is the timeout of a support bundle: machines that do not answer are a likely cause of the failure.
const patience = 2 * time.Minute

// failing is the part of testing.TB that this package uses.
type failing interface {
	Name() string
	Failed() bool
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// OnFailure keeps the logs and captures of the machines in out/failed if the test fails. Cleanups run in reverse order, so
// call it after the cleanup that removes the machines is registered.
func OnFailure(t testing.TB, out string, m Machines) {
	t.Helper()
	onFailure(t, out, m)
}

func onFailure(t failing, out string, m Machines) {
	t.Helper()

	folder, err := filepath.Abs(filepath.Join(out, "failed", strings.ReplaceAll(t.Name(), "/", "-")))
	if err != nil {
		t.Errorf("name the folder of evidence: %v", err)
	}

	// Remove the folder of an earlier run.
	if err := os.RemoveAll(folder); err != nil {
		t.Errorf("remove the evidence of an earlier run: %v", err)
	}

	t.Cleanup(func() {
		if !t.Failed() {
			return
		}

		if err := keep(folder, m); err != nil {
			t.Logf("keep the evidence: %v", err)
		}

		t.Logf("the evidence (consoles, logs, captures, support bundle) is in %s", folder)
	})
}

// keep copies the logs and collects a support bundle. One of them that fails does not prevent the other.
func keep(folder string, m Machines) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}

	errs := []error{copyLogs(m.Dir, folder)}

	if m.Support != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()

		said, err := m.Support(ctx, filepath.Join(folder, "support.zip")).CombinedOutput()
		errs = append(errs, os.WriteFile(filepath.Join(folder, "support.log"), said, 0o644))

		if err != nil {
			errs = append(errs, errors.New("talosctl support: "+err.Error()+", see support.log"))
		}
	}

	return errors.Join(errs...)
}

// copyLogs copies logs and captures below dir, with their folders. A file that is removed during the copy, such as the
// console of a machine that boots again, does not prevent the others.
func copyLogs(dir, folder string) error {
	var errs []error

	walked := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			errs = append(errs, err)

			return nil
		}

		if d.Type().IsRegular() && isLog(d.Name()) {
			errs = append(errs, copyFile(path, filepath.Join(folder, strings.TrimPrefix(path, dir))))
		}

		return nil
	})

	return errors.Join(append(errs, walked)...)
}

// copyFile copies a file, and creates its folder. A capture may be larger than the memory.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()

	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}

	out, err := os.Create(to)
	if err != nil {
		return err
	}

	_, err = io.Copy(out, in)

	return errors.Join(err, out.Close())
}

// isLog reports whether a file of a lab is a log or a capture: console.log.1, lab.log, wan.pcapng.
func isLog(name string) bool {
	ext := filepath.Ext(name)

	return ext == ".pcap" || ext == ".pcapng" || ext == ".log" || strings.Contains(name, ".log.")
}
