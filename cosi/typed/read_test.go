// SPDX-License-Identifier: Apache-2.0

package typed_test

import (
	"testing"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// TestRead: Read finds an input while it exists and is not tearing down, and Find finds it until it is destroyed.
func TestRead(t *testing.T) {
	ctx, st := t.Context(), memory.New()
	ok := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}

	ok(typed.Set(ctx, st, "", "web", HostSpec{Name: "www"}))
	ok(typed.Set(ctx, st, "", "mail", HostSpec{Name: "smtp"}))

	var web, mail HostSpec

	if all, err := typed.All(typed.Read(ctx, st, "web", &web), typed.Read(ctx, st, "mail", &mail)); !all || err != nil || web.Name != "www" || mail.Name != "smtp" {
		t.Errorf("both: got %t, %v, %q, %q", all, err, web.Name, mail.Name)
	}

	_, err := typed.Teardown[HostSpec](ctx, st, "", "mail")
	ok(err)

	mail = HostSpec{}
	if all, err := typed.All(typed.Read(ctx, st, "web", &web), typed.Read(ctx, st, "mail", &mail)); all || err != nil || mail.Name != "" {
		t.Errorf("with one tearing down: got %t, %v, %q, want false and nothing read", all, err, mail.Name)
	}

	if found, err := typed.Find[HostSpec](ctx, st, "", "mail"); found == nil || err != nil {
		t.Errorf("find: got %v, %v, want the resource that is tearing down", found, err)
	}

	if f := typed.Read(ctx, st, "none", &web); f.OK || f.Err != nil || web.Name != "www" {
		t.Errorf("none: got %+v, %q, want no error and the unchanged value", f, web.Name)
	}
}
