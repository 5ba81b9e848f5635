// SPDX-License-Identifier: Apache-2.0

package house

import (
	"slices"
	"strings"
	"testing"
)

// TestTopics rejects imports between the topics of talosctl: code that two of them need is in ctl/session. Only the root, package
// ctl, imports topics.
func TestTopics(t *testing.T) {
	const (
		top     = module + "ctl"
		session = module + "ctl/session"
	)

	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}

	topics := []string{top}

	for _, p := range all {
		for _, imported := range p.Imports {
			if p.ImportPath == top && strings.HasPrefix(imported, top+"/") && imported != session {
				topics = append(topics, imported)
			}
		}
	}

	if len(topics) < 10 {
		t.Fatalf("topics: got %q, want more", topics)
	}

	for _, p := range all {
		if part(p.ImportPath) != "ctl" || p.ImportPath == top {
			continue
		}

		for _, imported := range slices.Concat(p.Imports, p.TestImports) {
			if slices.Contains(topics, imported) {
				t.Errorf("%s imports %s, which is not below it", p.ImportPath, imported)
			}
		}
	}
}
