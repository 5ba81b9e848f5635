// SPDX-License-Identifier: Apache-2.0

package state

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// The rules of writes, for drivers.

// CheckOwner refuses a write to a resource as another owner.
func CheckOwner(op string, cur resource.Resource, owner string) error {
	if have := cur.Metadata().Owner(); have != owner {
		return NewError(OwnerConflict, op, cur.Metadata().Pointer(), "owner is %q, not %q", have, owner)
	}

	return nil
}

// CheckNewOwner refuses to create a resource that already has another owner.
func CheckNewOwner(op string, md *resource.Metadata, owner string) error {
	if have := md.Owner(); have != "" && have != owner {
		return NewError(InvalidArgument, op, md.Pointer(), "owner is already set to %q, not %q", have, owner)
	}

	return nil
}

// CheckPhase refuses a write to a resource in another phase than the expected one; nil accepts any.
func CheckPhase(op string, cur resource.Resource, expected *resource.Phase) error {
	if have := cur.Metadata().Phase(); expected != nil && have != *expected {
		return NewError(PhaseConflict, op, cur.Metadata().Pointer(), "phase is %s, expected %s", have, *expected)
	}

	return nil
}

// CheckVersion refuses an update of another version than the current one. Versions start again when a resource is destroyed
// and created again, so the time of creation is checked too, if the update has one.
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

// CheckCreated refuses a write if the resource was not created at the expected time; zero accepts any.
func CheckCreated(op string, cur resource.Resource, expected time.Time) error {
	if have := cur.Metadata().Created(); !expected.IsZero() && !have.Equal(expected) {
		return NewError(VersionConflict, op, cur.Metadata().Pointer(), "it was destroyed and created again at %s", have.Format(time.RFC3339Nano))
	}

	return nil
}

// CheckDestroy refuses to destroy a resource that has another owner, was created at another time than expected, or has
// finalizers.
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

// WriteBack copies the metadata of the stored version to the caller's resource, unless that is sealed.
func WriteBack(caller, stored *resource.Metadata) {
	if !caller.Sealed() {
		caller.TakeOver(stored)
	}
}
