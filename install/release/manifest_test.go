// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzManifest(f *testing.F) {
	sum := strings.Repeat("0a", 32)

	b, err := json.Marshal(Manifest{
		Format: 1, Name: "Talos", Version: "v1.2.3", Arch: "amd64", MinFrom: "v1.0.0", Cmdline: "quiet",
		Files: []File{
			{Name: UKI, Size: 9, SHA256: sum}, {Name: Loader, Size: 1, SHA256: sum}, {Name: Kernel, Size: 1, SHA256: sum, Of: UKI, Offset: 8},
			{Name: Initramfs, Size: 1, SHA256: sum},
		},
	})
	if err != nil {
		f.Fatal(err)
	}

	f.Add(b)
	f.Add([]byte(`{"format":2,"name":"Talos"}`))
	f.Add([]byte(`{"format":1,"name":"Talos","version":"v1","arch":"amd64","files":[{"name":"..","size":1}]}`))

	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parse(b)
		if err != nil {
			return
		}

		_ = m.For("amd64", "v1.0.0")

		b, err = json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}

		again, err := parse(b)
		if d := cmp.Diff(m, again); d != "" || err != nil {
			t.Errorf("(-first +second):\n%s%v", d, err)
		}
	})
}
