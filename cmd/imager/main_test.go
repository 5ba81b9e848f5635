// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestBadCalls(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown image", []string{"floppy"}, `unknown image "floppy"`},
		{"unknown flag", []string{"-nope"}, "nope"},
		{"sizes of nothing", []string{"-out", t.TempDir(), "sizes"}, "make the images first"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, diagnostics bytes.Buffer

			err := run(t.Context(), tt.args, &out, &diagnostics)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var out, diagnostics bytes.Buffer

	if err := run(t.Context(), []string{"-h"}, &out, &diagnostics); err != nil || !strings.Contains(diagnostics.String(), "usage: imager") {
		t.Errorf("got %v, %q", err, diagnostics.String())
	}
}
