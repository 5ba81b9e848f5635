// SPDX-License-Identifier: Apache-2.0

//go:build linux

package guestinfo

import (
	"strings"
	"testing"

	"github.com/vmware/vmw-guestinfo/bdoor"
)

// TestFault executes the instruction on a computer that is not VMware's, which the check prevents: the processor refuses it, and the
// program goes on.
func TestFault(t *testing.T) {
	if processor() {
		t.Skip("needs a computer that is not a virtual machine of VMware")
	}

	err := faults(func() error {
		p := &bdoor.BackdoorProto{}
		p.CX.AsUInt32().SetWord(bdoor.CommandGetVersion)
		p.InOut()

		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "restrict_backdoor") {
		t.Errorf("got error %v, want a fault", err)
	}

	if err := faults(func() error { return nil }); err != nil {
		t.Errorf("without a fault: got error %v", err)
	}

	// Another panic is a defect of this program and not the hypervisor's answer.
	defer func() {
		if p := recover(); p != "defect" {
			t.Errorf("got panic %v, want the one of the function", p)
		}
	}()

	_ = faults(func() error { panic("defect") })
}
