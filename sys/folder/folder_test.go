// SPDX-License-Identifier: Apache-2.0

package folder_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/sys/folder"
)

func TestWrite(t *testing.T) {
	root := t.TempDir()
	want := folder.Folder{Path: "/system/secrets/x", UID: os.Getuid(), Files: map[string]folder.File{
		"a.key": folder.Private([]byte("one")), "a.crt": folder.Public([]byte("two")),
	}}

	for range 2 { // the second time the files exist
		if err := folder.Write(root, want); err != nil {
			t.Fatal(err)
		}
	}

	dir := filepath.Join(root, want.Path)

	for name, file := range want.Files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != string(file.Contents) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, file.Contents)
		}

		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != file.Mode {
			t.Errorf("%s: got mode %v, %v; want %v", name, info.Mode(), err, file.Mode)
		}
	}

	before := folder.Digest([]folder.Folder{want})
	delete(want.Files, "a.crt")
	want.Files["a.key"] = folder.Private([]byte("other"))

	if err := folder.Write(root, want); err != nil {
		t.Fatal(err)
	}

	if got, _ := os.ReadFile(filepath.Join(dir, "a.key")); string(got) != "other" {
		t.Errorf("replaced file: got %q, want %q", got, "other")
	}

	if _, err := os.Stat(filepath.Join(dir, "a.crt")); !os.IsNotExist(err) {
		t.Errorf("a file that is not wanted: got %v, want it removed", err)
	}

	if after := folder.Digest([]folder.Folder{want}); after == before {
		t.Errorf("digest: got %s for both contents", after)
	}
}
