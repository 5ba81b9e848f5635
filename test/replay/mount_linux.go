// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

// Mounter reads file systems of states that only the kernel can read: it mounts them, as the next boot does, which replays their logs. It does
// so in a mount namespace of its own.
type Mounter struct {
	losetup, dir string
	known        map[[sha256.Size]byte]map[string]string
}

// NewMounter returns a Mounter.
func NewMounter(t testing.TB) *Mounter {
	t.Helper()

	return &Mounter{hosttest.Need(t, "losetup"), t.TempDir(), map[[sha256.Size]byte]map[string]string{}}
}

// Mounted returns how many different file systems were mounted.
func (m *Mounter) Mounted() int { return len(m.known) }

// Files returns the files in the root folder of an XFS file system. What was read before is not read again.
func (m *Mounter) Files(p *Part) (map[string]string, error) {
	h := sha256.New()
	if err := p.state.identify(h, p.offset, p.size); err != nil {
		return nil, err
	}

	var key [sha256.Size]byte

	h.Sum(key[:0])

	if files, known := m.known[key]; known {
		return files, nil
	}

	var files map[string]string

	err := apart(func() (err error) {
		files, err = m.mount(p)

		return err
	})
	if err == nil {
		m.known[key] = files
	}

	return files, err
}

// apart calls fn on a thread with a mount namespace of its own, which ends with the thread.
func apart(fn func() error) error {
	done := make(chan error)

	go func() {
		runtime.LockOSThread() // and never unlocked: no other goroutine gets the thread

		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}

		if err == nil {
			err = fn()
		}

		done <- err
	}()

	return <-done
}

func (m *Mounter) mount(p *Part) (files map[string]string, err error) {
	image, target := filepath.Join(m.dir, "image"), filepath.Join(m.dir, "mounted")
	if err := errors.Join(p.extract(image), os.MkdirAll(target, 0o700)); err != nil {
		return nil, err
	}

	path, detach, err := loop(m.losetup, image, 0, p.size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, detach()) }()

	// Another state of the same file system may not be gone yet.
	if err := unix.Mount(path, target, "xfs", unix.MS_NODEV, "nouuid"); err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Unmount(target, 0)) }()

	list, err := os.ReadDir(target)
	if err != nil {
		return nil, err
	}

	files = map[string]string{}

	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(target, e.Name()))
		if err != nil {
			return nil, err
		}

		files[e.Name()] = string(b)
	}

	return files, nil
}

// extract writes the content of a part to a file, with holes where it was never written.
func (p *Part) extract(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	if err := f.Truncate(p.size); err != nil {
		return err
	}

	return p.state.runs(p.offset, p.size, func(at int64, r run) error {
		if r.from == zeros || r.from == below && p.state.recording.Before == nil {
			return nil
		}

		_, err := io.Copy(io.NewOffsetWriter(f, at-p.offset), io.NewSectionReader(p.state, at, r.length))

		return err
	})
}
