// SPDX-License-Identifier: Apache-2.0

package block

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// view has all inputs of a plan.
type view struct {
	configs map[string]block.VolumeConfigSpec
	found   []block.DiscoveredVolumeSpec
	// folders has the existing folders of volumes that are folders.
	folders map[string]bool
	// system is nil until the disk with META is found; systemErr is the error of an ambiguous search, or errAwaited.
	system    *block.SystemDiskSpec
	systemErr error
	// inUse are the volumes that are mounted.
	inUse map[string]bool
	// waits is set until META was looked at, and blocked is the error of a reset that must end before volumes are used.
	waits   bool
	blocked error
	// closing is set when all volumes are to be closed, as soon as they are not in use.
	closing bool
}

// step is a kind of work on a disk.
type step uint8

const (
	stepCreate step = iota
	stepGrow
	stepFormat
)

// action is one step of work for a volume.
type action struct {
	step   step
	volume string
	// disk is the path of the disk; device that of the partition, for stepFormat.
	disk, device string
	spec         block.ProvisioningSpec
}

// plan returns the status of each volume, and what to do next: at most one action for each volume. The actions do not depend on each
// other. The next plan sees their results.
func plan(v view) (map[string]block.VolumeStatusSpec, []action) {
	var actions []action

	statuses := map[string]block.VolumeStatusSpec{}
	table, tableErr := v.table()

	// Partitions of a wave are created only when all partitions of earlier waves exist: they share the free space.
	ids := slices.SortedFunc(maps.Keys(v.configs), func(a, b string) int {
		return cmp.Or(cmp.Compare(v.configs[a].Provisioning.Wave, v.configs[b].Provisioning.Wave), cmp.Compare(a, b))
	})

	for _, id := range ids {
		cfg := v.configs[id]
		s := block.VolumeStatusSpec{Type: cfg.Type, ParentID: cfg.ParentID, MountSpec: cfg.Mount}

		var todo *action

		switch {
		case v.closing && !v.inUse[id]:
			s.Phase = block.VolumePhaseClosed
		case v.blocked != nil:
			fail(&s, v.blocked)
		case v.waits && v.system != nil:
			s.Phase, s.ErrorMessage = block.VolumePhaseWaiting, "META is looked at first"
		case cfg.Type == block.VolumeTypeDirectory:
			v.folder(id, cfg, &s)
		case errors.Is(v.systemErr, errAwaited):
			s.Phase, s.ErrorMessage = block.VolumePhaseWaiting, v.systemErr.Error()
		case v.systemErr != nil:
			fail(&s, v.systemErr)
		case v.system == nil:
			s.Phase, s.ErrorMessage = block.VolumePhaseWaiting, "no disk with a META partition was found yet"
		case tableErr != nil:
			fail(&s, tableErr)
		default:
			todo = v.one(id, cfg, table, &s)
		}

		statuses[id] = s

		if todo != nil && !v.closing {
			todo.volume, todo.disk, todo.spec = id, v.system.DevPath, cfg.Provisioning
			actions = append(actions, *todo)
		}
	}

	return statuses, actions
}

func fail(s *block.VolumeStatusSpec, err error) {
	s.PreFailPhase, s.Phase, s.ErrorMessage = s.Phase, block.VolumePhaseFailed, err.Error()
}

// meta returns the system disk and where META is, or nothing if there is none. waits is set while META may still be found.
func (v *view) meta() (system, at string, waits bool) {
	cfg, known := v.configs[block.VolumeMeta]

	switch {
	case !known:
		return "", "", true
	case cfg.Type == block.VolumeTypeDirectory:
		dir := v.configs[cfg.ParentID].Mount.TargetPath
		if !v.folders[dir] {
			return "", "", false
		}

		return "", path.Join(dir, block.VolumeMeta), false
	case v.system == nil:
		return "", "", true
	}

	i := slices.IndexFunc(v.found, func(p block.DiscoveredVolumeSpec) bool {
		return p.Parent == v.system.DiskID && p.PartitionLabel == cfg.Locator.PartitionLabel && p.Size == cfg.Locator.Size
	})
	if i < 0 {
		return "", "", true
	}

	return v.system.DevPath, v.found[i].DevPath, false
}

// outdated reports whether a partition that was wiped was not discovered again yet.
func (v *view) outdated(stale map[string]bool) bool {
	for _, p := range v.found {
		if stale[p.DevPath] && p.Name == "" {
			delete(stale, p.DevPath)
		}
	}

	return len(stale) > 0
}

// table returns the partition table of the system disk, from the discovered volumes.
func (v *view) table() (*gpt.Table, error) {
	if v.system == nil {
		return nil, nil // no disk, no table
	}

	i := slices.IndexFunc(v.found, func(d block.DiscoveredVolumeSpec) bool { return d.DevPath == v.system.DevPath })
	if i < 0 {
		return nil, fmt.Errorf("the system disk %s is missing", v.system.DevPath)
	}

	d := v.found[i]

	t, err := gpt.New(d.Size, d.SectorSize)
	if err != nil {
		return nil, fmt.Errorf("system disk %s: %w", v.system.DevPath, err)
	}

	for _, p := range v.found {
		if p.Parent == v.system.DiskID && p.Offset > 0 && p.Size > 0 {
			first := p.Offset / d.SectorSize
			t.Partitions = append(t.Partitions, gpt.Partition{
				Number: int(p.PartitionIndex), Label: p.PartitionLabel, Type: gpt.TypeLinuxData,
				First: first, Last: first + p.Size/d.SectorSize - 1,
			})
		}
	}

	return t, nil
}

// one fills in the status of a volume, and returns its action, or nil.
func (v *view) one(id string, cfg block.VolumeConfigSpec, table *gpt.Table, s *block.VolumeStatusSpec) *action {
	var at []block.DiscoveredVolumeSpec

	for _, p := range v.found {
		if p.Parent == v.system.DiskID && p.PartitionLabel == cfg.Locator.PartitionLabel &&
			(cfg.Locator.Size == 0 || cfg.Locator.Size == p.Size) {
			at = append(at, p)
		}
	}

	switch {
	case len(at) > 1:
		fail(s, fmt.Errorf("partitions %s and %s both have the label %s", at[0].DevPath, at[1].DevPath, at[0].PartitionLabel))

		return nil
	case len(at) == 0 && cfg.Provisioning.PartitionSpec.Label == "":
		s.Phase = block.VolumePhaseMissing

		return nil
	case len(at) == 0:
		return v.create(id, cfg, table, s)
	}

	p := at[0]
	s.Phase = block.VolumePhaseLocated
	s.Location, s.MountLocation, s.ParentLocation = p.DevPath, p.DevPath, p.ParentDevPath
	s.PartitionIndex, s.PartitionUUID, s.UUID = int(p.PartitionIndex), p.PartitionUUID, p.UUID
	s.Size, s.PrettySize = p.Size, p.PrettySize

	return v.prepare(id, cfg, table, p, s)
}

// create plans a missing partition.
func (v *view) create(id string, cfg block.VolumeConfigSpec, table *gpt.Table, s *block.VolumeStatusSpec) *action {
	s.Phase = block.VolumePhaseWaiting

	for other, o := range v.configs {
		if o.Provisioning.Wave < cfg.Provisioning.Wave && o.Provisioning.PartitionSpec.Label != "" {
			if _, there := table.Find(o.Locator.PartitionLabel); !there {
				s.ErrorMessage = fmt.Sprintf("waiting for the partition of %s", other)

				return nil
			}
		}
	}

	// Check on a copy whether it fits; the real table is read when the partition is created.
	trial := *table
	if _, err := addPartition(&trial, cfg.Provisioning.PartitionSpec); err != nil {
		fail(s, fmt.Errorf("disk %s: %w", v.system.DevPath, err))

		return nil
	}

	return &action{step: stepCreate}
}

// addPartition adds a wanted partition to a table.
func addPartition(t *gpt.Table, spec block.PartitionSpec) (gpt.Partition, error) {
	typ, err := gpt.ParseGUID(spec.TypeUUID)
	if err != nil {
		return gpt.Partition{}, err
	}

	return t.Add(gpt.Partition{Label: spec.Label, Type: typ}, spec.MinSize, spec.MaxSize)
}

// prepare plans the file system of an existing partition, or its growth.
func (v *view) prepare(id string, cfg block.VolumeConfigSpec, table *gpt.Table, p block.DiscoveredVolumeSpec, s *block.VolumeStatusSpec) *action {
	want := cfg.Provisioning.FilesystemSpec.Type
	s.Filesystem = want

	// A volume in use is not changed; it grows at the next boot.
	if want == block.FilesystemTypeNone || v.inUse[id] {
		s.Phase = block.VolumePhaseReady

		return nil
	}

	if spec := cfg.Provisioning.PartitionSpec; spec.Grow {
		trial := *table
		if _, grown, err := trial.Grow(int(p.PartitionIndex), spec.MaxSize); err == nil && grown {
			return &action{step: stepGrow}
		}
	}

	switch {
	case p.Name == want.String():
		s.Phase = block.VolumePhaseReady

		return nil
	case p.Name != "":
		fail(s, fmt.Errorf("%s holds %s, expected %s: its contents are not changed", p.DevPath, p.Name, want))

		return nil
	case cfg.Provisioning.PartitionSpec.Label == "":
		fail(s, fmt.Errorf("%s holds no known file system, %s is expected", p.DevPath, want))

		return nil
	}

	s.Phase = block.VolumePhaseProvisioned

	return &action{step: stepFormat, device: p.DevPath}
}
