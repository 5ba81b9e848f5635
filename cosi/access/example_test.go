// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// A read-only store.
func ExampleNew() {
	ctx, mem := context.Background(), memory.New()
	readOnly := access.New(mem, func(_ context.Context, a access.Attempt) error {
		if a.Verb.Writes() {
			return errors.New(a.Verb.String() + ": read only")
		}

		return nil
	})

	fmt.Println(typed.Set(ctx, mem, "", "a", inSpec{Value: "1"}))
	fmt.Println(typed.Set(ctx, readOnly, "", "a", inSpec{Value: "2"}))

	r, err := typed.Get[inSpec](ctx, readOnly, "", "a")
	fmt.Println(r.TypedSpec().Value, err)
	// Output:
	// <nil>
	// update: read only
	// 1 <nil>
}

// A store for an untrusted controller in another process: it may do only what it has declared, as itself.
func ExampleAsController() {
	ctx, mem := context.Background(), memory.New()

	d, err := access.Declare("Guest",
		[]controller.Input{controller.In[inSpec](controller.Strong, "")},
		[]controller.Output{controller.Out[outSpec](controller.Exclusive)})
	if err != nil {
		panic(err)
	}

	guest := access.AsController(mem, d) // server.NewFor uses it for the connection of the guest

	fmt.Println(typed.Set(ctx, mem, "", "a", inSpec{}))
	fmt.Println(typed.Set(ctx, guest, "", "a", outSpec{}, state.WithOwner("Guest")))
	fmt.Println(typed.Set(ctx, guest, "", "b", outSpec{}, state.WithOwner("Other")))
	fmt.Println(guest.Destroy(ctx, resource.PointerOf[inSpec]("", "a"), state.WithOwner("Guest")))
	fmt.Println(guest.AddFinalizer(ctx, resource.PointerOf[inSpec]("", "a"), "Guest"))
	fmt.Println(guest.AddFinalizer(ctx, resource.PointerOf[inSpec]("", "a"), "Other"))
	// Output:
	// <nil>
	// <nil>
	// modify Outs.test.cosi.dev(default/b): controller "Guest" writes as "Other"
	// destroy Ins.test.cosi.dev(default/a): controller "Guest" has not declared it as an output
	// <nil>
	// add finalizer Ins.test.cosi.dev(default/a): controller "Guest" may hold only in its own name, not "Other"
}
