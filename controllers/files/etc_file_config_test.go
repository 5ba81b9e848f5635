// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/runtime"
)

const machineFiles = `machine:
  type: worker
  files:
    - {path: /etc/new.conf, op: create, permissions: 0o600, content: new}
    - {path: /etc/old.conf, op: append, permissions: 0o644, content: "more\n"}
    - {path: /etc/old.conf, op: append, permissions: 0o644, content: "and more\n"}
    - {path: /etc/other.conf, op: overwrite, permissions: 0o644, content: other}
    - {path: /etc/both.conf, op: create, permissions: 0o644, content: of the list}
    - {path: /etc/absent.conf, op: append, permissions: 0o644, content: x}
    - {path: /etc/there.conf, op: create, permissions: 0o644, content: x}
    - {path: /etc/hosts, op: overwrite, permissions: 0o644, content: x}
    - {path: /etc/cri/conf.d/20-customization.part, op: create, permissions: 0o644, content: x}
    - {path: /var/lib/x, op: create, permissions: 0o644, content: x}
`

const etcFileDocument = "---\napiVersion: v1alpha1\nkind: EtcFileConfig\nname: both.conf\nmode: 0o640\ncontents: of the document\n"

// TestEtcFiles: the files of the list and of documents are written and undone; those that cannot be written have conditions.
func TestEtcFiles(t *testing.T) {
	image := fstest.MapFS{"old.conf": {Data: []byte("old")}, "other.conf": {}, "there.conf": {}, "hosts": {}}
	etc := newFakeEtc("old.conf", "other.conf", "there.conf", "hosts")
	n := controllertest.Start(t, EtcFileConfigController(image), EtcFileController(etc, t.TempDir()))

	n.Configure([]byte(machineFiles + etcFileDocument))

	for name, want := range map[string]files.EtcFileSpecSpec{
		"new.conf": {Contents: "new", Mode: 0o600}, "old.conf": {Contents: "old\nmore\nand more\n", Mode: 0o644},
		"other.conf": {Contents: "other", Mode: 0o644}, "both.conf": {Contents: "of the document", Mode: 0o640},
	} {
		got := controllertest.Wait[files.EtcFileSpecSpec](n, name, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}

		controllertest.Wait[files.EtcFileStatusSpec](n, name, nil)
	}

	for name, why := range map[string]string{"absent.conf": "no such file", "there.conf": "it exists", "hosts": "the system writes"} {
		controllertest.Wait(n, "etc-file/"+name, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, why) })
	}

	n.Quiet(100 * time.Millisecond)

	n.Configure([]byte("machine:\n  type: worker\n" + etcFileDocument))
	cositest.WaitGone[files.EtcFileSpecSpec](n.Environment, "new.conf")
	cositest.WaitGone[files.EtcFileSpecSpec](n.Environment, "old.conf")
	cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, "etc-file/hosts")
	n.Quiet(100 * time.Millisecond)

	if len(etc.mounted) != 1 || etc.mounted["both.conf"] == "" || etc.image["new.conf"] || !etc.image["old.conf"] {
		t.Errorf("mounted: %q, files: %v", etc.mounted, etc.image)
	}

	// What was appended is not a part of the original.
	n.Configure([]byte(machineFiles))
	controllertest.Wait(n, "old.conf", func(s files.EtcFileSpecSpec) bool { return s.Contents == "old\nmore\nand more\n" })
	controllertest.Wait(n, "both.conf", func(s files.EtcFileSpecSpec) bool { return s.Contents == "of the list" })

	// Nor is what replaced it.
	n.Configure([]byte("machine:\n  type: worker\n" + strings.Replace(etcFileDocument, "both", "last", 1)))
	controllertest.Wait[files.EtcFileStatusSpec](n, "last.conf", nil)
	image["last.conf"] = &fstest.MapFile{Data: []byte("of the document")} // as /etc has it when it is replaced
	n.Configure([]byte(strings.ReplaceAll(machineFiles, "both", "last")))
	controllertest.Wait(n, "last.conf", func(s files.EtcFileSpecSpec) bool { return s.Contents == "of the list" })
}
