// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
)

const varFileList = `machine:
  type: worker
  files:
    - {path: /var/lib/a/new.conf, op: create, permissions: 0o600, content: new}
    - {path: /var/lib/old.conf, op: append, permissions: 0o644, content: "more\n"}
    - {path: /var/lib/absent.conf, op: overwrite, permissions: 0o644, content: x}
    - {path: /var/out/passwd, op: create, permissions: 0o644, content: x}
    - {path: /etc/x, op: create, permissions: 0o644, content: x}
`

// TestVarFiles: files below /var are written when EPHEMERAL is mounted, at each boot with the same result.
func TestVarFiles(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()

	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "lib/old.conf"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		n := controllertest.Start(t, MachineFileController())
		n.Configure([]byte(varFileList))

		const id = requester + "-" + block.VolumeEphemeral

		controllertest.Wait[block.VolumeMountRequestSpec](n, id, nil)
		controllertest.Set(n, id, block.VolumeMountStatusSpec{VolumeID: block.VolumeEphemeral, Target: dir})

		for name, why := range map[string]string{"/var/lib/absent.conf": "no such file", "/var/out/passwd": "escapes"} {
			controllertest.Wait(n, "file/"+name, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, why) })
		}

		for name, want := range map[string]string{"lib/a/new.conf": "new", "lib/old.conf": "old\nmore\n"} {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
			}
		}

		if st, err := os.Stat(filepath.Join(dir, "lib/a/new.conf")); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v", st, err)
		}

		n.Quiet(100 * time.Millisecond)
		n.Configure([]byte("machine:\n  type: worker\n"))
		cositest.WaitGone[block.VolumeMountRequestSpec](n.Environment, id)
		cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, "file//var/out/passwd")
	}

	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("a symbolic link led out of /var: %v, %v", left, err)
	}
}
