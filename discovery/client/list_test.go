// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/server"
)

// TestList: a session that does not watch can ask for the others. What is not an affiliate of the cluster is left out.
func TestList(t *testing.T) {
	n := newNetwork(t)
	service := server.New(server.Options{}, slog.New(slog.DiscardHandler))
	stop := n.serveThis(t, "one:1", service)

	a, b := n.session(t, "one:1", "a"), n.session(t, "one:1", "b")
	a.Publish(local("a"))
	b.Publish(local("b", "172.20.0.2:51820"))

	await(t, a, "the source", func(v *View) bool { return v.State == StatePublishing })
	await(t, b, "the source", func(v *View) bool { return v.State == StatePublishing })

	if _, err := service.AffiliateUpdate(t.Context(), &serverapi.AffiliateUpdateRequest{
		ClusterId: "cluster", AffiliateId: "garbage", AffiliateData: []byte("of another cluster"),
	}); err != nil {
		t.Fatal(err)
	}

	found, err := a.List(t.Context())
	if got := slices.Collect(maps.Keys(found)); err != nil || !slices.Equal(got, []string{"b"}) {
		t.Fatalf("got %v, %v, want b alone", got, err)
	}

	if b := found["b"]; b.Revision != 7 || b.Affiliate.GetHostname() != "b" || len(b.Endpoints) != 1 {
		t.Errorf("got %+v", b)
	}

	if v := a.View(); len(v.Affiliates) > 0 {
		t.Errorf("it watches: %+v", v)
	}

	stop()
	await(t, a, "the end", func(v *View) bool { return v.State == StateConnecting })

	if _, err := a.List(context.Background()); !errors.Is(err, ErrNotConnected) || !strings.Contains(err.Error(), "one:1") {
		t.Errorf("without a connection: got %v", err)
	}
}
