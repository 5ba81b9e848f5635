// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"testing"

	"google.golang.org/protobuf/proto"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	"github.com/seed-59268b81/talos/discovery/client"
)

// counted is a session that counts what is published.
type counted struct {
	Session

	published int
}

func (c *counted) Publish(*client.Local) { c.published++ }

// TestPublishOnce: what is published is not published again, also when the message of the first time was encoded meanwhile.
func TestPublishOnce(t *testing.T) {
	c := &counted{}
	s := &session{Session: c}

	for i, name := range []string{"a", "a", "b"} {
		l := &client.Local{Affiliate: &clientapi.Affiliate{NodeId: name}}
		s.publish(l)

		if _, err := proto.Marshal(l.Affiliate); err != nil {
			t.Fatal(err)
		}

		if want := []int{1, 1, 2}[i]; c.published != want {
			t.Errorf("after %d: %d are published, want %d", i+1, c.published, want)
		}
	}
}
