// SPDX-License-Identifier: Apache-2.0

package block

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/resources/block"
)

// mountState is the state machine of MountController. The requests, the states of the volumes and the time go in, and the next state
// and the actions come out; testdata/mount has scripts of both. A volume is
//
//	         a request, and it is ready           a request to write
//	unmounted ───────────────────────▶ read-only ────────────────────▶ writable
//	    ▲                                  │ no request, no grant          │
//	    ├────────────── unmounted ─────────┴──── busy ◀────────────────────┘
//	    │                                         │ and the machine goes down
//	    └──── read-only: left mounted; writable for busyLimit: abandoned ◀┘
type mountState struct {
	// closing is when the teardown of the lifecycle began.
	closing time.Time
	// busy has, by volume, the error of the last attempt to unmount it.
	busy map[string]string
}

// There is no event when a busy mount becomes free, so unmounting is tried again after busyRetry. When the machine goes down, a
// volume that stays busy for busyLimit is abandoned.
const (
	busyRetry = 200 * time.Millisecond
	busyLimit = 10 * time.Second
)

// lifecycle of all volumes.
type lifecycle uint8

const (
	noLifecycle lifecycle = iota // not yet created, or destroyed
	running
	closing
)

// volumeSeen is what is known of a volume.
type volumeSeen struct {
	id       string
	status   block.VolumeStatusSpec
	leaving  bool                   // the status is torn down
	mount    *block.MountStatusSpec // nil while it is not mounted
	unmounts bool                   // the MountStatus is torn down
	requests []mountRequest         // by id
}

type mountRequest struct {
	id string
	block.VolumeMountRequestSpec
}

// mountedVolume is a volume that is mounted; used is set while it is requested, or a grant of it exists.
type mountedVolume struct {
	id string
	block.MountStatusSpec
	used bool
}

// The events.
type (
	seen struct {
		lifecycle
		volumes []volumeSeen
	}
	// cleaned follows the cleanup of grants that are no longer requested and that nothing holds.
	cleaned struct{ volumes []mountedVolume }
	// unmounted is the result of an attempt to unmount.
	unmounted struct {
		mountedVolume
		err error
	}
)

// The actions. A failed action, except a grant, ends the list of its volume.
type (
	refuse  struct{ err error } // fails
	mountIt struct {
		status   block.VolumeStatusSpec
		readOnly bool
	}
	makeWritable struct{ target string }
	show         struct{ block.MountStatusSpec }
	grant        struct {
		request string
		block.VolumeMountStatusSpec
	}
	unmount struct{ mountedVolume }
	abandon struct{ target string }
	// forget removes the MountStatus of a volume.
	forget struct{}
	retry  struct{ after time.Duration }
	report struct {
		level slog.Level
		text  string
		args  []any
	}
)

// volumeActions are those of one volume.
type volumeActions struct {
	volume  string
	actions []any
}

// next returns the state after an event, and the actions of each volume, in the order in which they are to be carried out.
func (s mountState) next(event any, now time.Time) (mountState, []volumeActions) {
	switch e := event.(type) {
	case seen:
		if e.lifecycle == running {
			s.closing = time.Time{}
		} else if e.lifecycle == closing && s.closing.IsZero() {
			s.closing = now
		}

		return s, mountAll(e)
	case cleaned:
		return s, unmountAll(e.volumes)
	case unmounted:
		s.busy = maps.Clone(s.busy)

		return s, []volumeActions{{e.id, s.after(e, now)}}
	}

	return s, nil
}

// mountAll mounts the volumes that are requested and ready, and grants the requests of mounted volumes.
func mountAll(e seen) (all []volumeActions) {
	if e.lifecycle != running {
		return nil
	}

	// A target below another's is mounted after it.
	slices.SortFunc(e.volumes, func(a, b volumeSeen) int {
		return cmp.Compare(a.status.MountSpec.TargetPath, b.status.MountSpec.TargetPath)
	})

	for _, v := range e.volumes {
		if len(v.requests) > 0 {
			all = append(all, volumeActions{v.id, v.mountOne()})
		}
	}

	return all
}

func (v volumeSeen) mountOne() (actions []any) {
	var (
		spec     = v.status.MountSpec
		asked    = v.asked()
		readOnly = spec.ReadOnly() || asked.ReadOnly
	)

	switch {
	case spec.TargetPath == "":
		return []any{refuse{errors.New("it has no target path")}}
	case v.unmounts:
		return nil
	case v.mount != nil && v.mount.ReadOnly && !readOnly:
		actions = []any{makeWritable{spec.TargetPath}}
	case v.mount != nil:
		// A writable mount stays writable: a writer may not have finished.
		readOnly = v.mount.ReadOnly
	case v.status.Phase != block.VolumePhaseReady || v.leaving:
		return nil
	default:
		actions = []any{mountIt{v.status, readOnly}}
	}

	actions = append(actions, show{block.MountStatusSpec{
		Spec: asked, Source: v.status.MountLocation, Target: spec.TargetPath, Filesystem: v.status.Filesystem, ReadOnly: readOnly,
	}})

	for _, r := range v.requests {
		actions = append(actions, grant{r.id, block.VolumeMountStatusSpec{
			VolumeID: v.id, Requester: r.Requester, Target: spec.TargetPath,
			ReadOnly: r.ReadOnly || spec.ReadOnly(), Detached: r.Detached, DisableAccessTime: r.DisableAccessTime,
			Secure: spec.Secure, NoExec: spec.NoExec,
		}})
	}

	return actions
}

// asked merges all requests of a volume.
func (v volumeSeen) asked() block.MountRequestSpec {
	out := block.MountRequestSpec{VolumeID: v.id, ReadOnly: true}

	for _, r := range v.requests {
		out.Requesters = append(out.Requesters, r.Requester)
		out.RequesterIDs = append(out.RequesterIDs, r.id)
		out.ReadOnly = out.ReadOnly && r.ReadOnly
	}

	return out
}

// unmountAll unmounts the unused volumes. EPHEMERAL is the last, because other volumes may be mounted on it.
func unmountAll(volumes []mountedVolume) (all []volumeActions) {
	slices.SortStableFunc(volumes, func(a, b mountedVolume) int {
		switch block.VolumeEphemeral {
		case a.id:
			return 1
		case b.id:
			return -1
		default:
			return strings.Compare(b.Target, a.Target)
		}
	})

	for _, v := range volumes {
		if !v.used {
			all = append(all, volumeActions{v.id, []any{unmount{v}}})
		}
	}

	return all
}

// after returns the actions after an attempt to unmount.
func (s *mountState) after(e unmounted, now time.Time) []any {
	if e.err == nil {
		delete(s.busy, e.id)

		return []any{report{slog.LevelInfo, "volume unmounted", []any{"volume", e.id, "target", e.Target}}, forget{}}
	}

	switch {
	case !s.closing.IsZero() && e.ReadOnly: // pods run until the machine is off, and their layers are files of the image cache
		return []any{report{slog.LevelInfo, "volume stays mounted: it is read-only, and in use", []any{"volume", e.id, "target", e.Target}}, forget{}}
	case errors.Is(e.err, errElsewhere): // nothing is left to unmount here
		delete(s.busy, e.id)

		return []any{report{slog.LevelError, "volume is still mounted in another namespace: end the containers that are left, or restart the machine",
			[]any{"volume", e.id, "target", e.Target, "error", e.err}}, forget{}}
	case !s.closing.IsZero() && now.Sub(s.closing) >= busyLimit:
		return []any{
			report{slog.LevelError, "volume cannot be unmounted, and the machine goes down", []any{"volume", e.id, "error", e.err}},
			abandon{e.Target}, forget{},
		}
	case s.busy[e.id] == e.err.Error():
		return []any{retry{busyRetry}}
	}

	if s.busy == nil {
		s.busy = map[string]string{}
	}

	s.busy[e.id] = e.err.Error()

	return []any{report{slog.LevelWarn, "volume stays mounted for now", []any{"volume", e.id, "error", e.err}}, retry{busyRetry}}
}
