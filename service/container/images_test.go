// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"testing"
)

func TestReference(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"nginx", "docker.io/library/nginx:latest"},
		{"registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"},
		{"127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b:latest"},
		{"a/b@sha256:0000000000000000000000000000000000000000000000000000000000000000", "docker.io/a/b@sha256:0000000000000000000000000000000000000000000000000000000000000000"},
		{"", ""},
		{"Upper/Case", ""},
		{"a:b:c", ""},
		{"a@sha256:1", ""},
		{"../../etc", ""},
	} {
		got, err := Reference(tt.in)
		if got != tt.want || (tt.want == "") != errors.Is(err, ErrReference) {
			t.Errorf("%q: got %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

func FuzzReference(f *testing.F) {
	for _, in := range []string{"nginx", "registry.k8s.io/pause:3.10", "a@sha256:1", ":", "@"} {
		f.Add(in)
	}

	f.Fuzz(func(t *testing.T, in string) {
		once, err := Reference(in)
		if err != nil {
			return
		}

		if twice, err := Reference(once); err != nil || twice != once {
			t.Errorf("%q is %q, which is %q, %v", in, once, twice, err)
		}
	})
}
