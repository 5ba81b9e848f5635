// SPDX-License-Identifier: Apache-2.0

package block

import (
	"bufio"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestStillMountedElsewhere unmounts volumes of which another mount namespace keeps one. The other one, on the same disk, is unmounted.
func TestStillMountedElsewhere(t *testing.T) {
	for _, tool := range []string{"mkfs.xfs", "losetup"} {
		hosttest.Need(t, tool)
	}

	if !nstest.Isolate(t) {
		return
	}

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("cannot make mounts private: %v", err)
	}

	root := t.TempDir()
	m := boot(t, newDisk(t, filepath.Join(root, "disk"), 3*gib), root)

	m.request("test", block.VolumeState)
	source := m.wait(block.VolumeState, block.VolumePhaseReady).MountLocation
	release := holdMounts(t)
	m.request("test", block.VolumeEphemeral)
	m.stop()

	lines := map[string]string{}

	for line := range strings.Lines(m.log.String()) {
		for _, volume := range []string{block.VolumeState, block.VolumeEphemeral} {
			if strings.Contains(line, "mounted") && strings.Contains(line, "volume="+volume) && strings.Contains(line, "target=") && !strings.Contains(line, "volume mounted") {
				lines[volume] += line
			}
		}
	}

	if got := lines[block.VolumeState]; !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "still mounted in another namespace") || strings.Contains(got, "volume unmounted") {
		t.Errorf("STATE: got %q, want an error that says where it is mounted", got)
	}

	if got := lines[block.VolumeEphemeral]; !strings.Contains(got, "volume unmounted") || strings.Contains(got, "level=ERROR") {
		t.Errorf("EPHEMERAL: got %q, want it unmounted", got)
	}

	if err := (Mounts{}).Unmount(source, root+"/mnt/nothing"); !errors.Is(err, errElsewhere) {
		t.Errorf("while it is held: got %v, want %v", err, errElsewhere)
	}

	release()

	if err := (Mounts{}).Unmount(source, root+"/mnt/nothing"); err != nil {
		t.Errorf("after the other namespace has ended: %v", err)
	}
}

// holdMounts starts a process with a mount namespace of its own, a copy of this one. It keeps the mounts until release.
func holdMounts(t *testing.T) (release func()) {
	t.Helper()

	cmd := exec.Command(hosttest.Need(t, "unshare"), "--mount", "--propagation", "private", "sh", "-c", "echo; exec sleep 1000")

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	release = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Cleanup(release)

	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}

	return release
}
