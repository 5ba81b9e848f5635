// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"fmt"
	"os"
	"path"

	"github.com/seed-59268b81/talos/resources/block"
)

// Folders is the Mounter of a machine without disks: its volumes are folders that the host has mounted. They stay mounted until all
// processes of the machine have ended.
type Folders struct{}

// Mount implements Mounter.
func (Folders) Mount(_ context.Context, volume string, s block.VolumeStatusSpec, readOnly bool) error {
	if readOnly {
		return nil
	}

	return makeFolders(volume, s.MountSpec)
}

// Writable implements Mounter.
func (Folders) Writable(string) error { return nil }

// Unmount implements Mounter.
func (Folders) Unmount(_, _ string) error { return nil }

// Abandon implements Mounter.
func (Folders) Abandon(string) error { return nil }

// folderVolumes are the system's volumes on a machine without disks. The values of META are a file in STATE.
func folderVolumes() map[string]block.VolumeConfigSpec {
	volumes := map[string]block.VolumeConfigSpec{}

	for id, v := range systemVolumes() {
		volumes[id] = block.VolumeConfigSpec{Type: block.VolumeTypeDirectory, Mount: v.Mount}
	}

	volumes[block.VolumeMeta] = block.VolumeConfigSpec{Type: block.VolumeTypeDirectory, ParentID: block.VolumeState}

	return volumes
}

// folder fills in the status of a volume that is a folder, or a file in its parent's folder. A read-only one may be missing.
func (v *view) folder(id string, cfg block.VolumeConfigSpec, s *block.VolumeStatusSpec) {
	at, location := cfg.Mount.TargetPath, cfg.Mount.TargetPath
	if cfg.ParentID != "" {
		at = v.configs[cfg.ParentID].Mount.TargetPath
		location = path.Join(at, id)
	}

	s.Location, s.MountLocation = location, location

	switch {
	case v.folders[at]:
		s.Phase = block.VolumePhaseReady
	case cfg.Mount.ReadOnly():
		s.Location, s.MountLocation, s.Phase = "", "", block.VolumePhaseMissing
	default:
		fail(s, fmt.Errorf("there is no folder %s: mount one there when you start the container", at))
	}
}

// folders reports, by path, which folders of volumes exist.
func folders(configs map[string]block.VolumeConfigSpec) map[string]bool {
	there := map[string]bool{}

	for _, cfg := range configs {
		if cfg.Type == block.VolumeTypeDirectory && cfg.ParentID == "" {
			st, err := os.Stat(cfg.Mount.TargetPath)
			there[cfg.Mount.TargetPath] = err == nil && st.IsDir()
		}
	}

	return there
}
