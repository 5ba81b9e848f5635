// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOf(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()

		path := filepath.Join(root, "build", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, content string) string {
		t.Helper()
		write(name, content)

		hash, err := Of(root, "image", "ociimage/layer.go")
		if err != nil {
			t.Fatal(err)
		}

		return hash
	}

	write("image/disk.go", "a")

	if _, err := Of(root, "image", "ociimage/layer.go"); err == nil {
		t.Error("a missing source: got no error")
	}

	write("ociimage/layer.go", "a")

	first := put("image/disk.go", "a")

	for _, other := range []string{"ociimage/layout.go", "image/disk_test.go", "image/testdata/a.go", "image/doc.txt"} {
		if got := put(other, "b"); got != first {
			t.Errorf("%s, which is not a source, changed the hash", other)
		}
	}

	for _, named := range []string{"image/new.go", "image/disk.go", "ociimage/layer.go"} {
		got := put(named, "c")
		if got == first {
			t.Errorf("%s, which is a source, did not change the hash", named)
		}

		first = got
	}
}
