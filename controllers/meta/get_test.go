// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/cosi/memory"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	sysmeta "github.com/seed-59268b81/talos/sys/meta"
)

// TestGet distinguishes a value that was never set from one that may be lost.
func TestGet(t *testing.T) {
	for name, tt := range map[string]struct {
		content []byte
		err     error
	}{
		"new":     {make([]byte, layout.MetaSize), nil},
		"damaged": {bytes.Repeat([]byte{0xa5}, layout.MetaSize), sysmeta.ErrDamaged},
	} {
		path := filepath.Join(t.TempDir(), "meta")
		if err := os.WriteFile(path, tt.content, 0o600); err != nil {
			t.Fatal(err)
		}

		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()

			st, values := memory.New(), &meta.Values{}
			rt := cosiruntime.New(st, nil)

			if err := rt.RegisterController(values.Controller()); err != nil {
				t.Fatal(err)
			}

			go rt.Run(ctx) // ends with the context

			if _, err := values.Get(sysmeta.Administrators); !errors.Is(err, meta.ErrNotLoaded) {
				t.Errorf("%s: before the partition is there: got %v, want %v", name, err, meta.ErrNotLoaded)
			}

			if err := typed.Set(ctx, st, "", block.VolumeMeta, block.VolumeStatusSpec{Phase: block.VolumePhaseReady, Location: path}); err != nil {
				t.Fatal(err)
			}

			synctest.Wait()

			if got, err := values.Get(sysmeta.Administrators); got != nil || !errors.Is(err, tt.err) {
				t.Errorf("%s: got %q, %v, want none and %v", name, got, err, tt.err)
			}

			// Setting another value does not change that.
			if err := values.Set(sysmeta.UserReserved1, []byte("x")); err != nil {
				t.Fatal(err)
			}

			if _, err := values.Get(sysmeta.Administrators); !errors.Is(err, tt.err) {
				t.Errorf("%s: after another was set: got %v, want %v", name, err, tt.err)
			}

			if err := values.Set(sysmeta.Administrators, []byte("a")); err != nil {
				t.Fatal(err)
			}

			if got, err := values.Get(sysmeta.Administrators); string(got) != "a" || err != nil {
				t.Errorf("%s: got %q, %v, want a", name, got, err)
			}
		})
	}
}
