// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/resources/files"
)

func TestWrite(t *testing.T) {
	var binds []string

	dir := t.TempDir()
	c := &etcFiles{etc: "/etc", shadow: dir, bound: map[string]bool{}, bind: func(source, target string) error {
		binds = append(binds, source+" on "+target)

		return nil
	}}

	var inode os.FileInfo

	for i, content := range []string{"127.0.0.1 localhost\n", "short\n"} {
		if err := c.write("hosts", &files.EtcFileSpecSpec{Contents: content, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}

		got, err := os.ReadFile(filepath.Join(dir, "hosts"))
		if err != nil || string(got) != content {
			t.Errorf("got %q (%v), want %q", got, err, content)
		}

		st, err := os.Stat(filepath.Join(dir, "hosts"))
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode: got %v (%v)", st.Mode(), err)
		}

		if i > 0 && !os.SameFile(inode, st) {
			t.Error("the file was replaced, what is bound is the old one")
		}

		inode = st
	}

	if len(binds) != 1 || binds[0] != filepath.Join(dir, "hosts")+" on /etc/hosts" {
		t.Errorf("binds: got %q", binds)
	}

	if err := c.write("../shadow", &files.EtcFileSpecSpec{}); err == nil {
		t.Error("a path outside /etc: got no error")
	}
}
