// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/ctl/session"
)

// TestAnyway: a command that the node refuses for the sake of etcd's quorum has the flag that the refusal names.
func TestAnyway(t *testing.T) {
	for _, action := range quorum.Actions {
		flag, _, _ := strings.Cut(strings.TrimPrefix(action.Anyway(), "--"), "=")
		if flag == "" {
			continue
		}

		found := false

		for _, cmd := range Commands(&session.Session{}) {
			found = found || cmd.Name() == string(action) && cmd.Flags().Lookup(flag) != nil
		}

		if !found {
			t.Errorf("talosctl %s has no flag --%s", action, flag)
		}
	}
}
