// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config/access"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/view"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/sys/meta"
)

// TestDamage holds that a machine with a damaged configuration stays closed, that its administrators are still known, and that the
// stored files are not changed.
func TestDamage(t *testing.T) {
	good := string(configtest.ControlPlane(t))
	worker := string(configtest.Worker(t))

	reachable := func(text string) string {
		out, err := access.Encode(decoded(t, text))
		if err != nil {
			t.Fatal(err)
		}

		return string(out)
	}

	kept := func(text string) string {
		out, err := access.EncodeAuthorities(decoded(t, text))
		if err != nil {
			t.Fatal(err)
		}

		return string(out)
	}

	newer := strings.Replace(good, "machine:", "machine:\n    newer: true", 1)
	closed, known := 0, 0

	damages := []struct {
		name  string
		files map[string]string
		// meta is the content of META; by default that of the files' configuration, "-" means none.
		meta    string
		metaErr error
		// unreadable files exist, but cannot be read.
		unreadable []string
		// unmounted means that STATE is not mounted; phase is its phase.
		unmounted bool
		phase     block.VolumePhase
	}{
		{name: "empty", files: map[string]string{fileName: "", accessName: reachable(good)}, meta: "-"},
		{name: "zeros", files: map[string]string{fileName: strings.Repeat("\x00", len(good)), accessName: reachable(good)}, meta: "-"},
		{name: "cut off", files: map[string]string{fileName: good[:len(good)/2], accessName: reachable(good)}, meta: "-"},
		{name: "a line overwritten", files: map[string]string{fileName: strings.Replace(good, "cluster:", "\xff\xfe:", 1), accessName: reachable(good)}, meta: "-"},
		{name: "a key of a newer version", files: map[string]string{fileName: newer, accessName: reachable(good)}, meta: "-"},
		{name: "the same, without the file of access", files: map[string]string{fileName: newer}, meta: "-"},
		{name: "the same, with a broken one", files: map[string]string{fileName: newer, accessName: "x: ["}, meta: "-"},
		{name: "a document of a newer version", files: map[string]string{fileName: good + "---\napiVersion: v1alpha1\nkind: NewerConfig\n"}, meta: "-"},
		{name: "a newer document first", files: map[string]string{fileName: "apiVersion: v1alpha1\nkind: NewerConfig\n---\n" + good}, meta: "-"},
		{name: "a worker's, cut off", files: map[string]string{fileName: worker[:100], accessName: reachable(worker)}, meta: kept(worker)},
		{name: "missing", files: map[string]string{accessName: reachable(good)}, meta: "-"},
		{name: "both broken", files: map[string]string{fileName: good[:100], accessName: ""}},
		{name: "both broken, a worker's", files: map[string]string{fileName: worker[:100], accessName: ""}, meta: kept(worker)},
		{name: "both missing, as on a STATE that was formatted again", files: map[string]string{}},
		{name: "neither can be read", files: map[string]string{fileName: good, accessName: reachable(good)}, unreadable: []string{fileName, accessName}},
		{name: "damaged, and META cannot be read", files: map[string]string{fileName: good[:100], accessName: reachable(good)}, metaErr: metactl.ErrNotLoaded},
		{name: "damaged, and META too", files: map[string]string{fileName: good[:100], accessName: reachable(good)}, metaErr: meta.ErrDamaged},
		{name: "STATE cannot be mounted", files: map[string]string{fileName: good, accessName: reachable(good)}, unmounted: true, phase: block.VolumePhaseReady},
		{name: "STATE holds something else", files: map[string]string{fileName: good}, unmounted: true, phase: block.VolumePhaseFailed},
		{name: "STATE is missing, and there is no space for another", files: map[string]string{}, unmounted: true, phase: block.VolumePhaseWaiting},
		{name: "STATE was lost, and is being formatted again", files: map[string]string{}, unmounted: true, phase: block.VolumePhaseProvisioned},
	}

	for _, tt := range damages {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				was := good
				if strings.Contains(tt.name, "a worker") {
					was = worker
				}

				b := startBare(ctx, t, tt.files, "")
				b.disk.unreadable = tt.unreadable
				b.meta.fail(metactl.ErrNotLoaded)
				b.meta.values[meta.Administrators] = cmp.Or(tt.meta, kept(was))

				if tt.meta == "-" {
					clear(b.meta.values)
				}

				if tt.unmounted {
					b.phase(t, tt.phase)
				} else {
					b.mount(t)
				}

				if b.maintenance(t) {
					t.Error("the machine is open to everyone before META was read")
				}

				if !tt.unmounted {
					if _, err := b.Apply(ctx, Change{Text: []byte(was), Anonymous: true}); !errors.Is(err, ErrDenied) && !errors.Is(err, ErrNotReady) {
						t.Errorf("a stranger applies a configuration before META was read: got %v", err)
					}
				}

				b.loaded(t)
				b.meta.fail(tt.metaErr)
				wait(latePatience)

				if b.maintenance(t) {
					t.Error("the machine is open to everyone")
				} else {
					closed++
				}

				if got := b.text(t, configres.ActiveID); got != "" {
					t.Errorf("active: got %.60q, want none", got)
				}

				if got := b.text(t, configres.AccessID); got == "" {
					t.Error("access: got none")
				} else if !bytes.Equal(view.Of(decoded(t, got)).MachineCA().Crt, view.Of(decoded(t, was)).MachineCA().Crt) {
					t.Error("access: another authority")
				} else {
					known++
				}

				if b.failure(t) == "" {
					t.Error("no resource says why the configuration cannot be used")
				}

				for name, text := range tt.files {
					if b.disk.durable[name] != text {
						t.Errorf("%s was changed", name)
					}
				}

				b.disk.unreadable = nil
				b.meta.fail(nil)

				if tt.phase == block.VolumePhaseProvisioned { // a change waits for it
					b.mount(t)
				}

				if _, err := b.Apply(ctx, Change{Text: []byte(was), Anonymous: true}); !errors.Is(err, ErrDenied) {
					t.Errorf("a stranger applies a configuration: got %v, want %v", err, ErrDenied)
				}

				if tt.unmounted && tt.phase != block.VolumePhaseProvisioned {
					b.mount(t)
				}

				if _, err := b.Apply(ctx, Change{Text: []byte(was)}); err != nil {
					t.Errorf("the administrator applies a configuration: %v", err)
				}

				if b.text(t, configres.ActiveID) != was || b.text(t, configres.AccessID) != "" || b.disk.durable[fileName] != was || b.meta.values[meta.Administrators] != kept(was) {
					t.Error("what the administrator applied is not in effect")
				}

				if got := b.failure(t); got != "" {
					t.Errorf("failure: got %q, want none", got)
				}
			})
		})
	}

	t.Logf("%d kinds of damage: open to strangers after %d, the administrators get in after %d", len(damages), len(damages)-closed, known)
}

// TestDamageOfAll: when the administrators are unknown, the machine stays closed.
func TestDamageOfAll(t *testing.T) {
	good := string(configtest.ControlPlane(t))

	for name, files := range map[string]map[string]string{"broken": {fileName: good[:100], accessName: ""}, "nothing": {}} {
		inBubble(t, func(ctx context.Context, t *testing.T) {
			b := startBare(ctx, t, files, "")
			b.mount(t)
			b.loaded(t)

			b = startBare(ctx, t, files, "")
			b.meta.fail(meta.ErrDamaged)
			b.mount(t)
			wait(latePatience)

			if b.maintenance(t) || b.text(t, configres.AccessID) != "" || len(b.failed) != 1 {
				t.Errorf("%s: got maintenance %t, access %q, failures %v, want the machine closed", name, b.maintenance(t), b.text(t, configres.AccessID), b.failed)
			}
		})
	}
}

// TestMetaFollows: META has the administrators of the stored configuration, and not of a trial.
func TestMetaFollows(t *testing.T) {
	good := string(configtest.ControlPlane(t))
	other := withAuthority(t, good)

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := startBare(ctx, t, map[string]string{fileName: good}, "")
		b.meta.fail(metactl.ErrNotLoaded)
		b.mount(t)

		if b.text(t, configres.ActiveID) != good {
			t.Fatal("a configuration that can be read waits for META")
		}

		has := func(text string) bool {
			want, err := access.EncodeAuthorities(decoded(t, text))
			if err != nil {
				t.Fatal(err)
			}

			if strings.Contains(b.meta.values[meta.Administrators], "PRIVATE") {
				t.Error("META has a key")
			}

			return b.meta.values[meta.Administrators] == string(want)
		}

		if b.loaded(t); !has(good) {
			t.Errorf("after META was found: got %q", b.meta.values)
		}

		if _, err := b.Apply(ctx, Change{Text: []byte(other), Mode: Try}); err != nil || !has(good) {
			t.Errorf("on trial: %v, META %q", err, b.meta.values)
		}

		b.meta.fail(errors.New("EIO"))

		if _, err := b.Apply(ctx, Change{Text: []byte(other)}); err != nil || b.text(t, configres.ActiveID) != other {
			t.Errorf("with a META that takes nothing: %v", err)
		}

		b.meta.fail(nil)

		if wait(metaRetry); !has(other) {
			t.Errorf("a minute later: got %q", b.meta.values)
		}

		if _, err := b.Apply(ctx, Change{Text: []byte(good), Mode: Staged}); err != nil || !has(good) {
			t.Errorf("staged: %v, META %q", err, b.meta.values)
		}
	})
}

// withAuthority returns a configuration that accepts another authority too.
func withAuthority(t *testing.T, text string) string {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"other"}})
	if err != nil {
		t.Fatal(err)
	}

	crt := base64.StdEncoding.EncodeToString(append(ca.PEM.Crt, ca.PEM.Key...))

	return strings.Replace(text, "machine:\n", "machine:\n    acceptedCAs:\n        - crt: "+crt+"\n", 1)
}

// TestAccessOfOlderVersions holds that a configuration that was stored without the file of access gets one.
func TestAccessOfOlderVersions(t *testing.T) {
	good := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, map[string]string{fileName: good}, "")

		if b.text(t, configres.ActiveID) != good || b.disk.durable[accessName] == "" {
			t.Errorf("got %s %.60q", accessName, b.disk.durable[accessName])
		}
	})
}

// TestTrialOfClosed holds that a trial on a machine whose configuration is damaged does not open it either.
func TestTrialOfClosed(t *testing.T) {
	good := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, map[string]string{fileName: "x: [" + good, accessName: ""}, "")
		c := b.Controller

		if _, err := b.Apply(ctx, Change{Text: []byte(good), Mode: Try}); err != nil {
			t.Fatal(err)
		}

		wait(DefaultTrial)

		if b.maintenance(t) || b.text(t, configres.ActiveID) != "" || !c.state.closed {
			t.Error("the trial is over, and the machine is not as it was")
		}
	})
}
