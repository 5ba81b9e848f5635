// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTimeline(t *testing.T) {
	const console = `BdsDxe: no time before this
+  2.404 BdsDxe: starting Boot0001 "UEFI Misc Device" from PciRoot(0x0)/Pci(0x4,0x0)
+  7.085 [    0.000000] Linux version 6.1.0-56-cloud-amd64
+ 12.382 [   10.975582] [talos] starting version=v0.1.0
+ 15.000 [   13.000000] [talos] volume mounted controller=block.MountController volume=STATE source=/dev/vda4 target=/system/state
+ 16.500 [   14.500000] [talos] service id=apid state=Running message="Started with PID 127"
+ 99.000 [   97.000000] [talos] service id=apid state=Running message="Started with PID 300"
`

	got, err := Timeline(strings.NewReader(console))
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff([]Moment{
		{"the firmware starts the boot loader", 2404 * time.Millisecond},
		{"the kernel starts", 7085 * time.Millisecond},
		{"machined starts", 12382 * time.Millisecond},
		{"STATE is mounted", 15 * time.Second},
		{"apid runs", 16500 * time.Millisecond},
	}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
