// SPDX-License-Identifier: Apache-2.0

package block

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-59268b81/talos/resources/block"
)

// TestMountScripts runs the scripts of the state machine, which have the actions after each event. -rewrite writes the new actions;
// commit only what you understand. The commands are
//
//	start
//	later 10s
//	seen running|closing|none        with a line for each volume:
//	    VOLUME /target [ro] [ready] [leaving] [mounted=ro|rw] [unmounts] [request=rw:WHO] [request=ro:WHO]
//	cleaned                          with a line for each mounted volume: VOLUME /target [used]
//	unmounted VOLUME [ro] [elsewhere|error]
func TestMountScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/mount", func(t *testing.T, path string) {
		var (
			s   mountState
			now time.Time
		)

		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var event any

			switch d.Cmd {
			case "start":
				s, now = mountState{}, time.Unix(0, 0)

				return ""
			case "later":
				length, err := time.ParseDuration(d.CmdArgs[0].Key)
				if err != nil {
					t.Fatal(err)
				}

				now = now.Add(length)

				return ""
			case "seen":
				e := seen{lifecycle: map[string]lifecycle{"running": running, "closing": closing}[d.CmdArgs[0].Key]}
				for line := range strings.Lines(d.Input) {
					e.volumes = append(e.volumes, parseSeen(t, strings.Fields(line)))
				}

				event = e
			case "cleaned":
				var e cleaned

				for line := range strings.Lines(d.Input) {
					words := strings.Fields(line)
					e.volumes = append(e.volumes, mountedVolume{words[0], block.MountStatusSpec{Target: words[1]}, slices.Contains(words, "used")})
				}

				event = e
			case "unmounted":
				e := unmounted{mountedVolume: mountedVolume{id: d.CmdArgs[0].Key, MountStatusSpec: block.MountStatusSpec{Target: "/target", ReadOnly: d.HasArg("ro")}}}

				for _, arg := range d.CmdArgs[1:] {
					switch arg.Key {
					case "ro":
					case "elsewhere":
						e.err = fmt.Errorf("unmount /dev/vda5: %w", errElsewhere)
					default:
						e.err = errors.New(arg.Key)
					}
				}

				event = e
			default:
				t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			}

			var all []volumeActions
			s, all = s.next(event, now)

			out := &strings.Builder{}

			for _, v := range all {
				for _, action := range v.actions {
					fmt.Fprintln(out, v.volume+":", describe(action))
				}
			}

			return out.String()
		})
	})
}

func parseSeen(t *testing.T, words []string) volumeSeen {
	t.Helper()

	v := volumeSeen{id: words[0], status: block.VolumeStatusSpec{Phase: block.VolumePhaseLocated, MountSpec: block.MountSpec{TargetPath: strings.TrimPrefix(words[1], "-")}}}

	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")

		switch key {
		case "ro":
			v.status.MountSpec.Parameters = []block.ParameterSpec{{Name: "ro"}}
		case "ready":
			v.status.Phase = block.VolumePhaseReady
		case "leaving":
			v.leaving = true
		case "mounted":
			v.mount = &block.MountStatusSpec{ReadOnly: value == "ro"}
		case "unmounts":
			v.unmounts = true
		case "request":
			mode, who, _ := strings.Cut(value, ":")
			v.requests = append(v.requests, mountRequest{who + "-" + v.id, block.VolumeMountRequestSpec{VolumeID: v.id, Requester: who, ReadOnly: mode == "ro"}})
		default:
			t.Fatalf("unknown word %q", word)
		}
	}

	return v
}

func describe(action any) string {
	mode := func(readOnly bool) string {
		if readOnly {
			return "ro"
		}

		return "rw"
	}

	switch a := action.(type) {
	case refuse:
		return "refuse: " + a.err.Error()
	case mountIt:
		return fmt.Sprintf("mount at %s %s", a.status.MountSpec.TargetPath, mode(a.readOnly))
	case makeWritable:
		return "make writable " + a.target
	case show:
		return fmt.Sprintf("show %s, requested %s by %v", mode(a.ReadOnly), mode(a.Spec.ReadOnly), a.Spec.Requesters)
	case grant:
		return fmt.Sprintf("grant %s %s", a.request, mode(a.ReadOnly))
	case unmount:
		return "unmount"
	case abandon:
		return "abandon " + a.target
	case forget:
		return "forget"
	case retry:
		return "retry after " + a.after.String()
	case report:
		return strings.TrimSpace(fmt.Sprintln(append([]any{"report", a.level, a.text}, a.args...)...))
	default:
		return fmt.Sprintf("unknown action %T", a)
	}
}
