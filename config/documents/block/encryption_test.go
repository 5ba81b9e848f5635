// SPDX-License-Identifier: Apache-2.0

package block_test

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
)

// TestVolumes checks what is wrong with documents of volumes.
func TestVolumes(t *testing.T) {
	const (
		kind = "apiVersion: v1alpha1\nkind: "
		disk = "provisioning: {diskSelector: {match: 'true'}, minSize: 1GiB, maxSize: 80%}\n"
	)

	for name, tt := range map[string]struct{ text, want string }{
		"a volume":             {"UserVolumeConfig\nname: a\n" + disk, ""},
		"no disk":              {"UserVolumeConfig\nname: a\nprovisioning: {minSize: 1GiB}\n", "provisioning.diskSelector: is missing"},
		"a raw one, no disk":   {"RawVolumeConfig\nname: a\nprovisioning: {minSize: 1GiB}\n", "provisioning.diskSelector: is missing"},
		"a folder":             {"UserVolumeConfig\nname: a\nvolumeType: directory\n", ""},
		"a folder with a size": {"UserVolumeConfig\nname: a\nvolumeType: directory\n" + disk, "volumeType: a directory has no"},
		"a disk with a size":   {"UserVolumeConfig\nname: a\nvolumeType: disk\n" + disk, "volumeType: a whole disk has no"},
		"sizes":                {"RawVolumeConfig\nname: a\nprovisioning: {diskSelector: {match: 'true'}, minSize: 2GB, maxSize: 1GB}\n", "1GB is less than minSize 2GB"},
		"a name":               {"RawVolumeConfig\nname: a/b\n" + disk, "is not the name of a volume"},
		"another volume":       {"VolumeConfig\nname: OTHER\n", "is not a volume of the system"},
		"a chip":               {"VolumeConfig\nname: STATE\nencryption: {provider: luks2, keys: [{slot: 0, tpm: {options: {pcrs: [0, 7]}}}]}\n", ""},
		"a register":           {"VolumeConfig\nname: STATE\nencryption: {provider: luks2, keys: [{slot: 0, tpm: {options: {pcrs: [24]}}}]}\n", "keys[0].tpm.options.pcrs[0]: 24 is not a register"},
		"two sources":          {"VolumeConfig\nname: STATE\nencryption: {provider: luks2, keys: [{slot: 0, nodeID: {}, tpm: {}}]}\n", "want one of static"},
		"a slot twice":         {"VolumeConfig\nname: STATE\nencryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}, {slot: 0, tpm: {}}]}\n", "keys[1].slot: 0 is the slot of another key"},
		"a slot":               {"VolumeConfig\nname: STATE\nencryption: {provider: luks2, keys: [{slot: 32, nodeID: {}}]}\n", "32 is out of range"},
		"STATE to itself":      {"VolumeConfig\nname: STATE\nencryption: {provider: luks2, keys: [{slot: 0, nodeID: {}, lockToState: true}]}\n", "keys[0].lockToState: is for other volumes"},
		"EPHEMERAL to STATE":   {"VolumeConfig\nname: EPHEMERAL\nencryption: {provider: luks2, keys: [{slot: 0, nodeID: {}, lockToState: true}]}\n", ""},
		"no keys":              {"VolumeConfig\nname: STATE\nencryption: {provider: luks2}\n", "encryption.keys: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Decode([]byte(kind + tt.text))
			if err != nil {
				t.Fatal(err)
			}

			got := document.Check(cfg.Documents()[0]).Findings
			if tt.want == "" && len(got) > 0 || !strings.Contains(got.Error(), tt.want) {
				t.Errorf("got %v, want %q", got, tt.want)
			}
		})
	}
}
