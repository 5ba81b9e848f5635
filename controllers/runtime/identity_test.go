// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"testing"
	"testing/fstest"

	"github.com/seed-59268b81/talos/resources/runtime"
)

func TestSecurityState(t *testing.T) {
	got, err := securityState(fstest.MapFS{
		secureBootVar:   {Data: []byte{6, 0, 0, 0, 1}},
		stubInfoVar:     {Data: []byte("x")},
		sigEnforcedFile: {Data: []byte("Y\n")},
	})
	want := runtime.SecurityStateSpec{SecureBoot: true, BootedWithUKI: true, ModuleSignatureEnforced: true}

	if err != nil || got != want {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}

	if got, err := securityState(fstest.MapFS{sigEnforcedFile: {Data: []byte("N\n")}}); err != nil || got != (runtime.SecurityStateSpec{}) {
		t.Errorf("no firmware variables: got %+v (%v)", got, err)
	}
}
