// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

// Recorder records what is written to block devices of this computer: all are parts of one disk. The disk is a file that QEMU's storage daemon
// exports through FUSE, with the filter blklogwrites below it, and the devices are loop devices on that.
type Recorder struct {
	t               testing.TB
	dir             string
	size            int64
	export, logFile string
	losetup         string
}

// startTime is how long the storage daemon may take until it exports the disk.
const startTime = 10 * time.Second

// Record returns a recorder of a new disk of zeros with a size in bytes. The test is skipped where a computer has no loop devices or no FUSE.
func Record(t testing.TB, size int64) *Recorder {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes loop devices")
	}

	for _, device := range []string{"/dev/fuse", "/dev/loop-control"} {
		if _, err := os.Stat(device); err != nil {
			t.Skipf("this computer has no FUSE or no loop devices: %v", err)
		}
	}

	dir := t.TempDir()
	r := &Recorder{
		t: t, dir: dir, size: size, export: filepath.Join(dir, "export"), logFile: filepath.Join(dir, "log"), losetup: hosttest.Need(t, "losetup"),
	}

	disk := filepath.Join(dir, "disk")
	for _, path := range []string{disk, r.logFile, r.export} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Truncate(disk, size); err != nil {
		t.Fatal(err)
	}

	r.start(disk)

	return r
}

// start starts the storage daemon, which ends with the test.
func (r *Recorder) start(disk string) {
	r.t.Helper()
	hosttest.Need(r.t, "qemu-storage-daemon")

	output := filepath.Join(r.dir, "output")

	f, err := os.Create(output)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()

	cmd := exec.Command("qemu-storage-daemon",
		"--blockdev", "driver=file,node-name=disk,discard=unmap,cache.no-flush=on,filename="+disk,
		"--blockdev", "driver=file,node-name=log,cache.no-flush=on,filename="+r.logFile,
		"--blockdev", fmt.Sprintf("driver=blklogwrites,node-name=recorded,file=disk,log=log,log-sector-size=%d", sector),
		"--export", "type=fuse,id=export,node-name=recorded,writable=on,mountpoint="+r.export)
	cmd.Stdout, cmd.Stderr = f, f

	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}

	r.t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			r.t.Error(err)
		}

		if err := cmd.Wait(); err != nil {
			text, _ := os.ReadFile(output)
			r.t.Errorf("qemu-storage-daemon: %v: %s", err, text)
		}
	})

	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		info, err := os.Stat(r.export)
		if err == nil && info.Size() == r.size {
			return
		}

		if time.Since(start) > startTime {
			text, _ := os.ReadFile(output)
			r.t.Fatalf("qemu-storage-daemon exports nothing after %s: %v: %s", startTime, err, text)
		}
	}
}

// Device returns the path of a block device that is a part of the disk, until the test ends or the device is closed.
func (r *Recorder) Device(offset, size int64) (path string, closed func()) {
	r.t.Helper()

	path, detach, err := loop(r.losetup, r.export, offset, size)
	if err != nil {
		r.t.Fatal(err)
	}

	gone := false
	closed = func() {
		r.t.Helper()

		if gone {
			return
		}

		gone = true

		if err := detach(); err != nil {
			r.t.Error(err)
		}
	}

	r.t.Cleanup(closed)

	return path, closed
}

// loop makes a loop device of a part of a file.
func loop(losetup, file string, offset, size int64) (path string, detach func() error, err error) {
	//program:arg the callers name losetup
	out, err := exec.Command(losetup, "--find", "--show", "--offset", fmt.Sprint(offset), "--sizelimit", fmt.Sprint(size), file).CombinedOutput()
	if err != nil {
		return "", nil, fmt.Errorf("losetup: %w: %s", err, out)
	}

	path = strings.TrimSpace(string(out))

	return path, func() error {
		//program:arg the callers name losetup
		if out, err := exec.Command(losetup, "--detach", path).CombinedOutput(); err != nil {
			return fmt.Errorf("losetup --detach %s: %w: %s", path, err, out)
		}

		return nil
	}, nil
}

// Entries returns the number of entries until now. The last thing that was done to the disk must be a flush.
func (r *Recorder) Entries() int {
	r.t.Helper()

	f, err := os.Open(r.logFile)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()

	out, err := Open(f)
	if err != nil {
		r.t.Fatal(err)
	}

	return len(out.Log.Entries)
}

// Recording returns what was recorded until the last flush. It can be read until the test ends.
func (r *Recorder) Recording() *Recording {
	r.t.Helper()

	f, err := os.Open(r.logFile)
	if err != nil {
		r.t.Fatal(err)
	}

	r.t.Cleanup(func() { f.Close() })

	out, err := Open(f)
	if err != nil {
		r.t.Fatal(err)
	}

	out.Size = r.size

	return out
}

// Open reads the log of a recording. The caller sets what the disk was before, and its size.
func Open(f *os.File) (*Recording, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}

	l, err := ReadLog(f, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.Name(), err), f.Close())
	}

	return &Recording{Log: l, Data: f}, nil
}
