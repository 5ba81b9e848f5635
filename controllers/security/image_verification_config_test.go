// SPDX-License-Identifier: Apache-2.0

//go:build linux

package security_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	securityctl "github.com/seed-59268b81/talos/controllers/security"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/security"
)

// TestImageVerificationRules follows a configuration with rules, to one without the first, and to one without any.
func TestImageVerificationRules(t *testing.T) {
	st := memory.New()
	n := controllertest.StartOn(t, st, securityctl.ImageVerificationConfigController())

	wait := func(want map[string]string) {
		t.Helper()

		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			all, err := typed.List[security.ImageVerificationRuleSpec](t.Context(), st, "")
			if err != nil {
				t.Fatal(err)
			}

			got := map[string]string{}

			for _, r := range all {
				spec, action := r.TypedSpec(), "deny"

				switch {
				case spec.Skip:
					action = "skip"
				case spec.PublicKeyVerifier != nil && spec.PublicKeyVerifier.Certificate != "":
					action = "key"
				}

				got[r.Metadata().ID()] = spec.ImagePattern + " " + action
			}

			if cmp.Equal(want, got) {
				return
			}

			if time.Now().After(deadline) {
				t.Fatal(cmp.Diff(want, got))
			}
		}
	}

	const main = "machine: {type: worker}\n---\n"

	kind, _ := config.KindOf("ImageVerificationConfig")

	n.Configure([]byte(main + kind.Example))
	wait(map[string]string{"0000": "registry.example.com/* key", "0001": "registry.k8s.io/* skip", "0002": "* deny"})

	n.Configure([]byte(main + "apiVersion: v1alpha1\nkind: ImageVerificationConfig\nrules: [{image: b, deny: true}]\n"))
	wait(map[string]string{"0000": "b deny"})

	n.Configure([]byte(main))
	wait(map[string]string{})
}
