// SPDX-License-Identifier: Apache-2.0

//go:build linux

package uevent

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := Parse([]byte("add@/devices/pci0000:00/virtio1\x00ACTION=add\x00SUBSYSTEM=virtio\x00MODALIAS=virtio:d00000001v00001AF4\x00X=a=b\x00"))
	want := Event{Action: Add, Devpath: "/devices/pci0000:00/virtio1", Vars: map[string]string{
		"ACTION": "add", "SUBSYSTEM": "virtio", "MODALIAS": "virtio:d00000001v00001AF4", "X": "a=b",
	}}

	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("err %v (-want +got):\n%s", err, diff)
	}

	if got.Synthetic() {
		t.Error("the event of a new device is synthetic")
	}

	requested, err := Parse([]byte("add@/devices/x\x00ACTION=add\x00SYNTH_UUID=0\x00"))
	if err != nil || !requested.Synthetic() {
		t.Errorf("a requested event: got %v, %v", requested, err)
	}

	for _, bad := range []string{"", "libudev\x00\xfe\xed", "add@x", "@/x", "add@/x\x00novalue\x00", "add@/x\x00=v\x00"} {
		if e, err := Parse([]byte(bad)); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", bad, e)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("add@/devices/x\x00ACTION=add\x00"))
	f.Fuzz(func(t *testing.T, message []byte) {
		if e, err := Parse(message); err == nil && (e.Action == "" || e.Devpath == "") {
			t.Errorf("accepted %q as %v", message, e)
		}
	})
}

// The kernel sends events on request: after a write to a device's uevent file.
func TestListen(t *testing.T) {
	const device = "/sys/class/mem/null"

	if os.Geteuid() != 0 {
		t.Skip("needs root to ask the kernel for an event")
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	var got []Event

	err := Listen(ctx, func() {
		if err := os.WriteFile(device+"/uevent", []byte("change"), 0o644); err != nil {
			t.Skipf("the kernel here makes no events on request: %v", err)
		}
	}, func(e Event) {
		if e.Vars["DEVNAME"] == "null" {
			got = append(got, e)

			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	if len(got) == 0 || got[0].Action != Change || got[0].Vars["SUBSYSTEM"] != "mem" {
		t.Errorf("got %v, want one change of /dev/null", got)
	}
}
