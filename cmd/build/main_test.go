// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestBadCalls(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown target", []string{"-out", t.TempDir(), "floppy"}, `unknown step "floppy"`},
		{"unknown flag", []string{"-nope"}, "nope"},
		{"unknown use", []string{"-tools", "play"}, "none of"},
		{"sizes of nothing", []string{"-out", t.TempDir(), "-sizes"}, "make the images first"},
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

	if err := run(t.Context(), []string{"-h"}, &out, &diagnostics); err != nil || !strings.Contains(diagnostics.String(), "usage: build") {
		t.Errorf("got %v, %q", err, diagnostics.String())
	}
}

// TestList holds that the targets that the usage names are there.
func TestList(t *testing.T) {
	var out bytes.Buffer

	if err := run(t.Context(), []string{"-out", t.TempDir(), "-list"}, &out, &out); err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(usage) {
		if name, ok := strings.CutPrefix(line, "  "); ok {
			name, _, _ = strings.Cut(name, " ")
			if !strings.Contains("\n"+out.String(), "\n"+name+" ") {
				t.Errorf("the usage names %s, which is no target of\n%s", name, &out)
			}
		}
	}
}
