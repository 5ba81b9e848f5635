// SPDX-License-Identifier: Apache-2.0

package state

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// The rules of writes, for drivers.

// CheckOwner refuses a write to a resource by anyone but its owner.
func CheckOwner(op string, cur resource.Resource, owner string) error {
	if have := cur.Metadata().Owner(); have != owner {
		return NewError(OwnerConflict, op, cur.Metadata().Pointer(), "owner is %q, not %q", have, owner)
	}

	return nil
}

// CheckNewOwner refuses to create a resource for another owner than the one that it already names.
func CheckNewOwner(op string, md *resource.Metadata, owner string) error {
	if have := md.Owner(); have != "" && have != owner {
		return NewError(InvalidArgument, op, md.Pointer(), "owner is already set to %q, not %q", have, owner)
	}

	return nil
}

// CheckPhase refuses a write to a resource in another phase than the expected; nil expects any.
func CheckPhase(op string, cur resource.Resource, expected *resource.Phase) error {
	if have := cur.Metadata().Phase(); expected != nil && have != *expected {
		return NewError(PhaseConflict, op, cur.Metadata().Pointer(), "phase is %s, expected %s", have, *expected)
	}

	return nil
}

// CheckVersion refuses an update that was not made from the current version. Versions begin again when a resource is
// destroyed and created again, so the time of creation counts too, if the update has one.
func CheckVersion(op string, cur, next resource.Resource) error {
	have, got := cur.Metadata(), next.Metadata()

	if have.Version() != got.Version() {
		return NewError(VersionConflict, op, have.Pointer(), "version is %s, the update is of %s", have.VersionString(), got.VersionString())
	}

	if !have.SameLife(got) {
		return CheckCreated(op, cur, got.Created())
	}

	return nil
}

// CheckCreated refuses a write that is meant for a resource created at another time; zero means any.
func CheckCreated(op string, cur resource.Resource, expected time.Time) error {
	if have := cur.Metadata().Created(); !expected.IsZero() && !have.Equal(expected) {
		return NewError(VersionConflict, op, cur.Metadata().Pointer(), "it was destroyed and created again at %s", have.Format(time.RFC3339Nano))
	}

	return nil
}

// CheckDestroy refuses to destroy a resource that is another's, or that was created at another time than expected, or that
// has finalizers.
func CheckDestroy(cur resource.Resource, o WriteOptions) error {
	if err := CheckOwner("destroy", cur, o.Owner); err != nil {
		return err
	}

	if err := CheckCreated("destroy", cur, o.Created); err != nil {
		return err
	}

	if f := cur.Metadata().Finalizers(); len(f) > 0 {
		return NewError(PendingFinalizers, "destroy", cur.Metadata().Pointer(), "has finalizers %q", f)
	}

	return nil
}

// WriteBack tells the caller of a write, whose resource is its own, what became of it.
func WriteBack(caller, stored *resource.Metadata) {
	if !caller.Sealed() {
		caller.TakeOver(stored)
	}
}
