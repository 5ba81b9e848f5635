// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/view"
)

// TestInstall installs as the document says, or else the section of the main document. The kernel's arguments are those of the section in any case.
func TestInstall(t *testing.T) {
	const (
		arguments = "machine: {install: {extraKernelArgs: [a=b]}}\n"
		section   = "machine: {install: {disk: /dev/vda, image: registry.test/i:v1, wipe: true, extraKernelArgs: [a=b]}}\n"
	)

	document := documentText("UnattendedInstallConfig", "provisioning: {diskSelector: {match: disk.rotational}}\n")
	args := []string{"a=b"}

	for name, test := range map[string]struct {
		text string
		want *view.Install
	}{
		"nothing":                    {"", nil},
		"arguments only":             {arguments, nil},
		"the section":                {section, &view.Install{Disk: "/dev/vda", Image: "registry.test/i:v1", Args: args, Wipe: true, Reboot: true}},
		"the document":               {document, &view.Install{Match: "disk.rotational"}},
		"the document and arguments": {arguments + document, &view.Install{Match: "disk.rotational", Args: args}},
		"both":                       {section + document, &view.Install{Match: "disk.rotational", Args: args}},
	} {
		if diff := cmp.Diff(test.want, viewOf(t, test.text).Install()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
