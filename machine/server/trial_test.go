// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/api/trial"
	"github.com/seed-59268b81/talos/config/configtest"
)

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
