// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/view"
)

// document returns a document of a kind.
func documentText(kind, rest string) string {
	return "---\napiVersion: v1alpha1\nkind: " + kind + "\n" + rest
}

func TestRuntime(t *testing.T) {
	cfg := viewOf(t, documentText("EventSinkConfig", "endpoint: 192.0.2.3:2810\n")+
		documentText("KmsgLogConfig", "name: a\nurl: tcp://192.0.2.3:3478/\n")+
		documentText("EtcFileConfig", "name: a.conf\ncontents: x\n")+
		documentText("EtcFileConfig", "name: b.conf\nmode: 0o600\ncontents: y\n")+
		documentText("WatchdogTimerConfig", "device: /dev/watchdog1\ntimeout: 2m\n")+
		documentText("PCIDriverRebindConfig", "name: 10de:2204\ntargetDriver: vfio-pci\n"))

	got := []any{cfg.EventSink(), cfg.KernelLogURLs()[0].String(), cfg.EtcFiles(), *cfg.Watchdog(), cfg.PCIDrivers()}
	want := []any{
		"192.0.2.3:2810", "tcp://192.0.2.3:3478/", []view.EtcFile{{Name: "a.conf", Mode: 0o644, Contents: "x"}, {Name: "b.conf", Mode: 0o600, Contents: "y"}},
		view.Watchdog{Device: "/dev/watchdog1", Timeout: 2 * time.Minute}, map[string]string{"10de:2204": "vfio-pci"},
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if none := viewOf(t, ""); none.EventSink() != "" || none.Watchdog() != nil || none.Zswap() != nil || len(none.EtcFiles()) > 0 {
		t.Error("no configuration: it has settings")
	}
}

func TestTrimInterval(t *testing.T) {
	all := documentText("FilesystemTrimConfig", "interval: 24h\n")

	for name, test := range map[string]struct {
		text string
		want time.Duration
	}{
		"nothing":                    {"", 0},
		"all":                        {all, 24 * time.Hour},
		"another volume":             {documentText("VolumeConfig", "name: STATE\ntrim: {interval: 2h}\n"), 0},
		"its own":                    {all + documentText("VolumeConfig", "name: EPHEMERAL\ntrim: {interval: 2h}\n"), 2 * time.Hour},
		"its own, without a time":    {all + documentText("VolumeConfig", "name: EPHEMERAL\ntrim: {enabled: true}\n"), 24 * time.Hour},
		"its own, without any time":  {documentText("VolumeConfig", "name: EPHEMERAL\ntrim: {enabled: true}\n"), 7 * 24 * time.Hour},
		"off":                        {all + documentText("VolumeConfig", "name: EPHEMERAL\ntrim: {enabled: false, interval: 2h}\n"), 0},
		"its own says nothing of it": {all + documentText("VolumeConfig", "name: EPHEMERAL\n"), 24 * time.Hour},
	} {
		if got := viewOf(t, test.text).TrimInterval("EPHEMERAL"); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
