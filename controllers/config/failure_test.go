// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-59268b81/talos/config/configtest"
)

// TestLateFailure holds that a source that fails after a configuration is active does not show as the machine's failure.
func TestLateFailure(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no configuration", nil, "no answer"},
		{"a configuration", map[string]string{fileName: string(configtest.ControlPlane(t))}, ""},
	} {
		inBubble(t, func(ctx context.Context, t *testing.T) {
			b := start(ctx, t, tt.files, "")

			b.fail(errors.New("no answer"))
			b.looks(true) // the loop runs

			if got := b.failure(t); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
		})
	}
}
