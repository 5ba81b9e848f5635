// SPDX-License-Identifier: Apache-2.0

package controllertest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/layout"
)

// Root returns a root folder with the folders of EPHEMERAL, with their owners when root runs the test.
func Root(t testing.TB) string {
	t.Helper()

	root := t.TempDir()

	for _, f := range layout.EphemeralFolders {
		path := filepath.Join(root, f.Path)

		err := errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, os.FileMode(f.Mode).Perm()))
		if os.Geteuid() == 0 {
			err = errors.Join(err, os.Chown(path, f.UID, f.UID))
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	return root
}
