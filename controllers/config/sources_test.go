// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/platform"
)

// The configuration of the image can be read after it was hidden, but not as a file.
func TestHide(t *testing.T) {
	root := t.TempDir()

	if err := Hide(root); err != nil {
		t.Errorf("an image without a configuration: %v", err)
	}

	file := filepath.Join(root, layout.EmbeddedConfig)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(file, []byte("machine: {}"), 0o600); err != nil {
		t.Fatal(err)
	}

	// The thread is never unlocked: it ends with the test, and its namespace with it.
	goruntime.LockOSThread()

	if err := errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "")); err != nil {
		t.Skipf("no mount namespace of our own: %v", err)
	}

	inImage := fixedSources(os.DirFS(root), cmdline.Cmdline{}, platform.Platform{}).before[0]

	if err := Hide(root); err != nil {
		t.Fatal(err)
	}

	defer func() {
		if err := unix.Unmount(filepath.Dir(file), 0); err != nil {
			t.Error(err)
		}
	}()

	if got, err := inImage.read(); string(got) != "machine: {}" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}

	if _, err := os.ReadFile(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is not hidden: got error %v", err)
	}
}
