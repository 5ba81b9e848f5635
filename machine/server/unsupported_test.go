// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
)

// TestNotYet checks the errors of unsupported calls: what is missing, and what to do instead.
func TestNotYet(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)

	for _, tt := range []struct {
		name string
		call func() error
	}{
		{"verify image", func() error {
			_, err := machine.NewImageServiceClient(b.conn).Verify(ctx, &machine.ImageServiceVerifyRequest{})

			return err
		}},
	} {
		err := tt.call()
		if status.Code(err) != codes.Unimplemented || !strings.HasPrefix(status.Convert(err).Message(), tt.name+": this version ") || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%s: got %v, want Unimplemented, with what is missing and what to do", tt.name, err)
		}
	}
}
