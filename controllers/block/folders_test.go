// SPDX-License-Identifier: Apache-2.0

package block

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/platform"
)

func TestPlanFolders(t *testing.T) {
	type volume struct {
		Phase    block.VolumePhase
		Location string
		Fails    bool
	}

	ready := func(at string) volume { return volume{Phase: block.VolumePhaseReady, Location: at} }

	for _, tt := range []struct {
		name    string
		folders []string
		closing bool
		inUse   []string
		want    map[string]volume
	}{
		{
			name: "all there", folders: []string{"/system/state", "/var", "/system/imagecache"},
			want: map[string]volume{
				"META": ready("/system/state/META"), "STATE": ready("/system/state"), "EPHEMERAL": ready("/var"), "IMAGECACHE": ready("/system/imagecache"),
			},
		},
		{
			name: "no images, no place for state", folders: []string{"/var"},
			want: map[string]volume{
				"META":      {block.VolumePhaseFailed, "/system/state/META", true},
				"STATE":     {block.VolumePhaseFailed, "/system/state", true},
				"EPHEMERAL": ready("/var"), "IMAGECACHE": {Phase: block.VolumePhaseMissing},
			},
		},
		{
			name: "the end, with one in use", folders: []string{"/system/state", "/var", "/system/imagecache"}, closing: true, inUse: []string{"EPHEMERAL"},
			want: map[string]volume{
				"META": {Phase: block.VolumePhaseClosed}, "STATE": {Phase: block.VolumePhaseClosed},
				"EPHEMERAL": ready("/var"), "IMAGECACHE": {Phase: block.VolumePhaseClosed},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := view{configs: folderVolumes(), folders: map[string]bool{}, inUse: map[string]bool{}, closing: tt.closing}
			for _, f := range tt.folders {
				v.folders[f] = true
			}

			for _, id := range tt.inUse {
				v.inUse[id] = true
			}

			statuses, actions := plan(v)
			if len(actions) > 0 {
				t.Errorf("got work on disks: %v", actions)
			}

			got := map[string]volume{}

			for id, s := range statuses {
				got[id] = volume{s.Phase, s.Location, s.ErrorMessage != ""}

				if s.Type != block.VolumeTypeDirectory {
					t.Errorf("%s is of type %s", id, s.Type)
				}
			}

			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// EPHEMERAL has the same folders on a disk and in a folder. A read-only volume is not changed.
func TestFoldersMount(t *testing.T) {
	at := t.TempDir()
	status := block.VolumeStatusSpec{MountSpec: block.MountSpec{TargetPath: at, FileMode: 0o755}}

	if err := (Folders{}).Mount(t.Context(), block.VolumeEphemeral, status, true); err != nil {
		t.Fatal(err)
	}

	if made, err := filepath.Glob(filepath.Join(at, "*")); err != nil || len(made) != 0 {
		t.Errorf("a folder that is only read has %v, %v", made, err)
	}

	if (platform.Platform{Mode: platform.Container}).Owns(platform.Disks) {
		t.Error("a container owns disks")
	}

	if len(Controllers(platform.Platform{Mode: platform.Container}, "", nil)) >= len(Controllers(platform.Platform{}, "", nil)) {
		t.Error("a container has the controllers of disks")
	}
}
