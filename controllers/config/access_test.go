// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config/configtest"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// TestDamage holds that damage to a stored configuration opens the machine to no one, that its administrators are still known,
// and that what is stored is left as it is.
func TestDamage(t *testing.T) {
	good := string(configtest.ControlPlane(t))
	worker := string(configtest.Worker(t))

	access := func(text string) string {
		out, err := encodeAccess(decoded(t, text))
		if err != nil {
			t.Fatal(err)
		}

		return string(out)
	}

	closed, known := 0, 0
	damages := []struct {
		name  string
		files map[string]string
		// unknown is damage after which nothing tells who the administrators are.
		unknown bool
	}{
		{"empty", map[string]string{fileName: "", accessName: access(good)}, false},
		{"zeros", map[string]string{fileName: strings.Repeat("\x00", len(good)), accessName: access(good)}, false},
		{"cut off", map[string]string{fileName: good[:len(good)/2], accessName: access(good)}, false},
		{"a line overwritten", map[string]string{fileName: strings.Replace(good, "cluster:", "\xff\xfe:", 1), accessName: access(good)}, false},
		{"a key of a newer version", map[string]string{fileName: strings.Replace(good, "machine:", "machine:\n    newer: true", 1), accessName: access(good)}, false},
		{"the same, without the file of access", map[string]string{fileName: strings.Replace(good, "machine:", "machine:\n    newer: true", 1)}, false},
		{"the same, with a broken one", map[string]string{fileName: strings.Replace(good, "machine:", "machine:\n    newer: true", 1), accessName: "x: ["}, false},
		{"a document of a newer version", map[string]string{fileName: good + "---\napiVersion: v1alpha1\nkind: NewerConfig\n"}, false},
		{"a newer document first", map[string]string{fileName: "apiVersion: v1alpha1\nkind: NewerConfig\n---\n" + good}, false},
		{"a worker's, cut off", map[string]string{fileName: worker[:100], accessName: access(worker)}, false},
		{"gone", map[string]string{accessName: access(good)}, false},
		{"both broken", map[string]string{fileName: good[:100], accessName: ""}, true},
	}

	for _, tt := range damages {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := start(ctx, t, tt.files, "")

				if b.maintenance(t) {
					t.Error("the machine is open to everybody")
				} else {
					closed++
				}

				if got := b.text(t, configres.ActiveID); got != "" {
					t.Errorf("active: got %.60q, want none", got)
				}

				if got := b.text(t, configres.AccessID); (got != "") == tt.unknown {
					t.Errorf("access: got %.60q, known: want %t", got, !tt.unknown)
				} else if got != "" {
					want := good
					if strings.HasPrefix(tt.name, "a worker") {
						want = worker
					}

					if !bytes.Equal(decoded(t, got).Machine().CA.Crt, decoded(t, want).Machine().CA.Crt) {
						t.Error("access: another authority")
					}

					known++
				}

				for name, text := range tt.files {
					if b.disk.durable[name] != text {
						t.Errorf("%s was changed", name)
					}
				}

				if _, err := b.Apply(ctx, Change{Text: []byte(worker), Anonymous: true}); !errors.Is(err, ErrDenied) {
					t.Errorf("a stranger applies a configuration: got %v, want %v", err, ErrDenied)
				}

				if _, err := b.Apply(ctx, Change{Text: []byte(good)}); err != nil {
					t.Errorf("the administrator applies a configuration: %v", err)
				}

				if b.text(t, configres.ActiveID) != good || b.text(t, configres.AccessID) != "" || b.disk.durable[fileName] != good {
					t.Error("what the administrator applied is not in effect")
				}
			})
		})
	}

	t.Logf("open to strangers after %d of %d kinds of damage; administrators known after %d", len(damages)-closed, len(damages), known)
}

// TestAccessOfOlderVersions holds that a configuration that was stored without the file gets one.
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

		if b.maintenance(t) || b.text(t, configres.ActiveID) != "" || !c.closed {
			t.Error("the trial is over, and the machine is not as it was")
		}
	})
}
