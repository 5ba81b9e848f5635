// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/api/trial"
	"github.com/seed-59268b81/talos/config/configtest"
)

// TestKeepIfHealthy holds what a caller may say about when a configuration is committed.
func TestKeepIfHealthy(t *testing.T) {
	b := newBench(t)
	b.runConfig(t)

	first := string(configtest.ControlPlane(t))
	ctx := as(t.Context(), contract.RoleAdmin)

	if _, err := b.machine.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(first)}); err != nil {
		t.Fatal(err)
	}

	for when, want := range map[string]struct {
		code codes.Code
		text string
	}{
		contract.CommitHealthy: {codes.FailedPrecondition, "the health of the machine is not known yet"}, // this machine has no services
		contract.CommitNow:     {codes.InvalidArgument, "contradicts the mode try"},
		"soon":                 {codes.InvalidArgument, `"soon" is unknown to this version`},
	} {
		ctx := metadata.AppendToOutgoingContext(ctx, contract.KeyCommit, when)

		_, err := b.machine.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Mode: try, Data: []byte("# second\n" + first)})
		if status.Code(err) != want.code || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: got %v, want %s: %s", when, err, want.code, want.text)
		}
	}
}

// TestForGood holds what a caller is told about a configuration that is not on trial: because it is the first, because the caller says so, or
// because the machine does not know its health.
func TestForGood(t *testing.T) {
	b := newBench(t)
	b.runConfig(t)

	first := string(configtest.ControlPlane(t))

	for _, tt := range []struct {
		name, text, when, want string
	}{
		{"the first", first, "", "Applied configuration without a reboot"},
		{"for good", "# second\n" + first, contract.CommitNow, "Applied configuration without a reboot"},
		{
			"by default", "# third\n" + first, "",
			"Applied configuration without a reboot. It is stored for good: the health of the machine is not known yet",
		},
	} {
		ctx := as(t.Context(), contract.RoleAdmin)
		if tt.when != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, contract.KeyCommit, tt.when)
		}

		answer, err := b.machine.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(tt.text)})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}

		if got := answer.GetMessages()[0].GetModeDetails(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}

		if stored, err := os.ReadFile(filepath.Join(b.disk, "config.yaml")); err != nil || string(stored) != tt.text {
			t.Errorf("%s: stored is %.20q, %v", tt.name, stored, err)
		}
	}
}

// TestConfirm tries configurations, and confirms or reverts them as a client does.
func TestConfirm(t *testing.T) {
	b := newBench(t)
	b.runConfig(t)

	client := trial.NewTrialServiceClient(b.conn)
	ctx := as(t.Context(), contract.RoleAdmin)
	first := string(configtest.ControlPlane(t))

	apply := func(mode machine.ApplyConfigurationRequest_Mode, text string) string {
		t.Helper()

		answer, err := b.machine.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Mode: mode, Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}

		return answer.GetMessages()[0].GetModeDetails()
	}

	apply(auto, first)

	if _, err := client.Confirm(ctx, &trial.ConfirmRequest{}); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "there is no trial") {
		t.Errorf("without a trial: got %v", err)
	}

	for _, tt := range []struct {
		revert bool
		state  string
		why    string
	}{
		{true, "reverted", "talosctl confirm (os:admin) refused it"},
		{false, "committed", "talosctl confirm (os:admin) confirmed it"},
	} {
		second := "# " + tt.state + "\n" + first
		details := apply(try, second)

		if _, err := client.Confirm(as(t.Context(), contract.RoleOperator), &trial.ConfirmRequest{}); status.Code(err) != codes.PermissionDenied {
			t.Errorf("an operator: got %v", err)
		}

		answer, err := client.Confirm(ctx, &trial.ConfirmRequest{Revert: tt.revert})
		if err != nil {
			t.Fatal(err)
		}

		got := answer.GetMessages()[0]
		if got.GetState() != tt.state || got.GetDetails() != tt.why || !strings.Contains(details, "talosctl confirm "+got.GetId()+")") {
			t.Errorf("got %v, after %q", got, details)
		}

		stored, err := os.ReadFile(filepath.Join(b.disk, "config.yaml"))
		if err != nil || (string(stored) == second) == tt.revert {
			t.Errorf("%s: stored is %.20q, %v", tt.state, stored, err)
		}
	}
}
