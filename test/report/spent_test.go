// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSpent(t *testing.T) {
	var (
		s   spent
		out bytes.Buffer
	)

	s.print(&out)

	if out.Len() > 0 {
		t.Errorf("of nothing: got %q, want nothing", out.String())
	}

	s.phases = []item{{"build", 90 * time.Second}, {"vet", 0}}
	s.packages = []item{{"a", time.Second}, {"quick", 900 * time.Millisecond}, {"b", 20 * time.Second}}

	for _, e := range []event{
		{Package: "x", Test: "TestA", Elapsed: 3},
		{Package: "x", Test: "TestA/step", Elapsed: 3},
	} {
		s.test(e, false)
	}

	s.test(event{Package: "live", Test: "TestE/step", Elapsed: 2}, true)
	s.test(event{Package: "live", Test: "TestE/step/deep", Elapsed: 2}, true)

	s.print(&out)

	want := `
where the time went:
    90.0s  build
     0.0s  vet
slowest packages:
    20.0s  b
     1.0s  a
slowest tests:
     3.0s  x TestA
     2.0s  live TestE/step
`
	if d := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
