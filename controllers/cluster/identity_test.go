// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/files"
)

// boot runs the controller on a state, grants its requests for volumes, and returns the identity.
func boot(t *testing.T, dir string) string {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	st := memory.New()
	rt := cosiruntime.New(st, slog.New(slog.DiscardHandler))

	if err := rt.RegisterController(NodeIdentityController()); err != nil {
		t.Fatal(err)
	}

	runCtx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)

	go func() { ended <- rt.Run(runCtx) }()

	defer func() {
		stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	request := resource.PointerOf[block.VolumeMountRequestSpec]("", "node-identity-STATE")
	if _, err := st.WatchFor(ctx, request, state.EventTypeIs(state.Created)); err != nil {
		t.Fatalf("no request for STATE: %v", err)
	}

	if _, err := st.Get(ctx, resource.PointerOf[cluster.IdentitySpec]("", cluster.LocalIdentityID)); !state.IsNotFound(err) {
		t.Errorf("an identity before STATE is mounted: %v", err)
	}

	if err := typed.Set(ctx, st, "", "node-identity-STATE", block.VolumeMountStatusSpec{VolumeID: block.VolumeState, Target: dir}); err != nil {
		t.Fatal(err)
	}

	identity, err := st.WatchFor(ctx, resource.PointerOf[cluster.IdentitySpec]("", cluster.LocalIdentityID), state.EventTypeIs(state.Created, state.Updated))
	if err != nil {
		t.Fatalf("no identity: %v", err)
	}

	// The volume is released, so that it can be unmounted.
	if _, err := st.WatchFor(ctx, request, state.EventTypeIs(state.Destroyed)); err != nil {
		t.Errorf("the request for STATE stays: %v", err)
	}

	grant := resource.PointerOf[block.VolumeMountStatusSpec]("", "node-identity-STATE")
	if _, err := st.WatchFor(ctx, grant, state.FinalizersEmpty()); err != nil {
		t.Errorf("STATE is still held: %v", err)
	}

	machine, err := typed.Get[files.EtcFileSpecSpec](ctx, st, "", files.MachineID)
	if err != nil {
		t.Fatal(err)
	}

	if !regexp.MustCompile("^[0-9a-f]{32}\n$").MatchString(machine.TypedSpec().Contents) {
		t.Errorf("/etc/machine-id: got %q", machine.TypedSpec().Contents)
	}

	return identity.Spec().(*cluster.IdentitySpec).NodeID
}

func TestIdentityIsMadeOnceAndKept(t *testing.T) {
	dir := t.TempDir()

	first := boot(t, dir)
	if !regexp.MustCompile("^[0-9A-Za-z]{43,52}$").MatchString(first) {
		t.Errorf("got %q, want 32 bytes in base 62", first)
	}

	if again := boot(t, dir); again != first {
		t.Errorf("after a reboot: got %q, want %q", again, first)
	}

	if other := boot(t, t.TempDir()); other == first {
		t.Error("two machines have one identity")
	}

	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("on STATE: got %v, want one file", left)
	}
}

// published is an identity with a known machine-id.
const published = "sou7yy34ykX3n373Zw1DXKb8zD7UnyKT6HT3QDsGH6L"

// TestMachineID: the machine-id is the first half of the identity, as other programs compute it.
func TestMachineID(t *testing.T) {
	if got, err := machineID(published); err != nil || got != "be871ac0d0dd31fa4caca753b0f3f1b2" {
		t.Errorf("got %q, %v, want be871ac0d0dd31fa4caca753b0f3f1b2", got, err)
	}

	for range 100 {
		id, err := createIdentity(filepath.Join(t.TempDir(), "id"))
		if err != nil {
			t.Fatal(err)
		}

		if got, err := machineID(id); err != nil || len(got) != 2*machineIDSize || len(id) < 43 || len(id) > 45 {
			t.Fatalf("identity %q: got machine-id %q, %v", id, got, err)
		}
	}
}

func TestLoadIdentity(t *testing.T) {
	for _, tt := range []struct{ name, text, want, wantErr string }{
		{"as users have it", "nodeId: " + published + "\n", published, ""},
		{"too short", "nodeId: pVjQMpvJ8qZ7\n", "", "remove the file to get a new identity"},
		{"not base 62", "nodeId: sou7yy34ykX3n373Zw1DXKb8zD7UnyKT6HT3QDsGH6+\n", "", "is not in base 62"},
		{"not YAML", ":\t{", "", "remove the file to get a new identity"},
		{"empty", "", "", "nodeId is missing"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, identityFile), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}

		got, err := loadIdentity(dir)
		if got != tt.want || (err != nil) != (tt.wantErr != "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("%s: got %q, %v, want %q, %q", tt.name, got, err, tt.want, tt.wantErr)
		}
	}
}
