// SPDX-License-Identifier: Apache-2.0

package derive_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/effects/derive"
)

// TestListIsCurrent checks the checked-in list of keys without effect against the source.
func TestListIsCurrent(t *testing.T) {
	want, err := derive.Unread("../../..")
	if err != nil {
		t.Fatal(err)
	}

	got, err := os.ReadFile("../unread.txt")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, strings.Fields(string(got))); diff != "" {
		t.Errorf("config/effects/unread.txt is not current: run go generate ./config/effects (-want +got):\n%s", diff)
	}
}
