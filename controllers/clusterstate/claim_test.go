// SPDX-License-Identifier: Apache-2.0

package clusterstate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/clusterstate"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/typed"
	clusterstateres "github.com/seed-59268b81/talos/resources/clusterstate"
)

// TestClaim: one node at a time holds a lock, and the lock is a resource while it is held.
func TestClaim(t *testing.T) {
	srv := newServer(t)
	srv.start()

	client := srv.dial()

	st, err := etcd.Open(t.Context(), client, etcd.WithPrefix(clusterstate.Prefix))
	ok(t, err)
	t.Cleanup(st.Close)

	held, err := clusterstate.Claim(t.Context(), client, "etcd-members", "cp-1")
	ok(t, err)
	t.Cleanup(func() { held.Release(context.Background()) })

	other, err := clusterstate.Claim(t.Context(), client, "upgrades", "cp-2") // another lock
	ok(t, err)
	ok(t, other.Release(t.Context()))

	until(t, "the locks", func() (string, error) {
		locks, err := typed.List[clusterstateres.LockSpec](t.Context(), st, "")

		var got []string
		for _, l := range locks {
			got = append(got, l.Metadata().ID()+" "+l.TypedSpec().Holder)
		}

		return strings.Join(got, ", "), err
	}, "etcd-members cp-1")

	_, err = clusterstate.ClaimWithin(t.Context(), client, "etcd-members", "cp-2", 100*time.Millisecond)

	var locked *etcd.LockedError
	if !errors.As(err, &locked) || locked.Holder != "cp-1" || !strings.Contains(err.Error(), "etcd-members for cp-2") {
		t.Errorf("while another node holds it: got %v, want an error that names the lock and both nodes", err)
	}

	ok(t, held.Release(t.Context()))
	<-held.Lost()

	until(t, "the locks after the release", func() (string, error) {
		locks, err := typed.List[clusterstateres.LockSpec](t.Context(), st, "")

		return strings.Repeat("lock ", len(locks)), err
	}, "")
}
