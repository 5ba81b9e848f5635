// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cri"
)

// TestSeccompProfiles: the profiles of the configuration are the files of the kubelet's folder, and no others.
func TestSeccompProfiles(t *testing.T) {
	mounted := t.TempDir()
	dir := filepath.Join(mounted, strings.TrimPrefix(layout.SeccompProfilesDir, layout.VarDir))

	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "of-an-earlier-boot.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}

	n := controllertest.Start(t, SeccompProfileController(), SeccompProfileFileController())
	n.Configure([]byte("machine:\n  type: worker\n  seccompProfiles:\n    - {name: audit.json, value: {defaultAction: SCMP_ACT_LOG, errnoRet: 1}}\n    - {name: b.json, value: {}}\n"))

	const id = seccompRequester + "-" + block.VolumeEphemeral

	controllertest.Wait[block.VolumeMountRequestSpec](n, id, nil)
	controllertest.Set(n, id, block.VolumeMountStatusSpec{VolumeID: block.VolumeEphemeral, Target: mounted})
	files := func() string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}

		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}

		return strings.Join(names, " ")
	}
	await := func(want string) {
		t.Helper()

		for deadline := time.Now().Add(cositest.Patience); files() != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("got the files %s, want %s", files(), want)
			}
		}
	}

	await("audit.json b.json")

	got, err := os.ReadFile(filepath.Join(dir, "audit.json"))
	if want := "{\n  \"defaultAction\": \"SCMP_ACT_LOG\",\n  \"errnoRet\": 1\n}"; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}

	n.Quiet(100 * time.Millisecond)
	n.Configure([]byte("machine:\n  type: worker\n"))
	cositest.WaitGone[cri.SeccompProfileSpec](n.Environment, "audit.json")
	await("")
}
