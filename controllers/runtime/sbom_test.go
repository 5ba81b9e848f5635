// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/spdx"
)

func TestSoftware(t *testing.T) {
	list := func(packages ...spdx.Package) *fstest.MapFile {
		b, err := spdx.Encode("test", time.Unix(0, 0), packages)
		if err != nil {
			t.Fatal(err)
		}

		return &fstest.MapFile{Data: b}
	}

	got, err := software(fstest.MapFS{
		layout.SBOMDir + "/a.spdx.json": list(
			spdx.Package{Name: "libc6", Version: "2.36", PURLs: []string{"pkg:deb/debian/libc6@2.36"}, CPEs: []string{"cpe"}},
			spdx.Package{Name: "x/sys", Version: "v1", License: "BSD-3-Clause"}),
		layout.SBOMDir + "/b.spdx.json": list(spdx.Package{Name: "x/sys", Version: "v2"}, spdx.Package{Name: "libc6", Version: "2.36"}),
		layout.SBOMDir + "/README":      {Data: []byte("text")},
	})
	want := map[string]runtime.SBOMItemSpec{
		"libc6":    {Name: "libc6", Version: "2.36"}, // of the list that comes last
		"x/sys@v1": {Name: "x/sys", Version: "v1", License: "BSD-3-Clause"},
		"x/sys@v2": {Name: "x/sys", Version: "v2"},
	}

	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}

	if got, err := software(fstest.MapFS{}); err != nil || len(got) != 0 {
		t.Errorf("without lists: got %v, %v", got, err)
	}

	if _, err := software(fstest.MapFS{layout.SBOMDir + "/a.json": {Data: []byte("{")}}); err == nil || !strings.Contains(err.Error(), "usr/share/spdx/a.json") {
		t.Errorf("a list that cannot be decoded: got %v", err)
	}
}
