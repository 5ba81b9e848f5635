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

// mountState is the state machine of MountController. What is requested, ready and mounted goes in, with the time, and the next
// state and the actions come out; testdata/mount has scripts of both. A volume is
//
//	         a request, and it is ready           a request to write
//	unmounted ───────────────────────▶ read-only ────────────────────▶ writable
//	    ▲                                  │ no request, no grant          │
//	    ├────────────── unmounted ─────────┴──── busy ◀────────────────────┘
//	    │                                         │ and the machine goes down
//	    └──── read-only: left mounted; writable for busyLimit: abandoned ◀┘
type mountState struct {
	// closing is since when the lifecycle is torn down.
	closing time.Time
	// busy is why a volume could not be unmounted at the last attempt.
	busy map[string]string
}

// Nothing tells when a busy mount becomes free, so it is tried again after busyRetry. When the machine goes down, a
// volume that stays busy for busyLimit is abandoned.
const (
	busyRetry = 200 * time.Millisecond
	busyLimit = 10 * time.Second
)

// lifecycle of all volumes.
type lifecycle uint8

const (
	noLifecycle lifecycle = iota // none yet, or no more
	running
	closing
)

// volumeSeen is what is known of a volume.
type volumeSeen struct {
	id       string
	status   block.VolumeStatusSpec
	leaving  bool                   // the status is torn down
	mount    *block.MountStatusSpec // nil while it is not mounted
	unmounts bool                   // the mount's is torn down
	requests []mountRequest         // by id
}

type mountRequest struct {
	id string
	block.VolumeMountRequestSpec
}

// mountedVolume is one that is mounted; used is whether it is requested, or a grant of it is held.
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
	// cleaned comes when the grants of what is requested no more were taken back, as far as nobody holds them.
	cleaned struct{ volumes []mountedVolume }
	// unmounted is the outcome of an attempt.
	unmounted struct {
		mountedVolume
		err error
	}
)

// The actions. One that fails ends those of its volume, except a grant.
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
	// forget is that a volume counts as mounted no more.
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

// next is what an event leads to: for each volume, in their order, the actions that are to be carried out in theirs.
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

// mountAll mounts what is requested and ready, and grants the requests of what is mounted.
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
		return []any{refuse{errors.New("it cannot be mounted")}}
	case v.unmounts:
		return nil
	case v.mount != nil && v.mount.ReadOnly && !readOnly:
		actions = []any{makeWritable{spec.TargetPath}}
	case v.mount != nil:
		// One that is writable stays so: who writes may not have finished.
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

// asked is what all requests of a volume come to.
func (v volumeSeen) asked() block.MountRequestSpec {
	out := block.MountRequestSpec{VolumeID: v.id, ReadOnly: true}

	for _, r := range v.requests {
		out.Requesters = append(out.Requesters, r.Requester)
		out.RequesterIDs = append(out.RequesterIDs, r.id)
		out.ReadOnly = out.ReadOnly && r.ReadOnly
	}

	return out
}

// unmountAll unmounts what nobody requests and nobody holds. EPHEMERAL last: what else is on the machine may have something on it.
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

// after is what follows an attempt to unmount.
func (s *mountState) after(e unmounted, now time.Time) []any {
	if e.err == nil {
		delete(s.busy, e.id)

		return []any{report{slog.LevelInfo, "volume unmounted", []any{"volume", e.id, "target", e.Target}}, forget{}}
	}

	switch {
	case !s.closing.IsZero() && e.ReadOnly: // pods run until the machine is off, and their layers are files of the image cache
		return []any{report{slog.LevelInfo, "volume stays mounted: it is read-only, and in use", []any{"volume", e.id, "target", e.Target}}, forget{}}
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
