// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
)

// TestTimeSync: servers that must prove their answers are refused, because nothing checks the proof; a PTP clock is a device.
func TestTimeSync(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"ntp: {servers: [a.example], useNTS: true}", "TimeSyncConfig.ntp.useNTS"},
		{"ntp: {servers: [a.example], useNTS: false}", ""},
		{"ptp: {devices: [/dev/ptp0]}", ""},
		{"ptp: {devices: [ptp0]}", "ptp.devices[0]"},
	} {
		cfg, err := config.Decode([]byte("apiVersion: v1alpha1\nkind: TimeSyncConfig\n" + tt.text + "\n"))
		if err != nil {
			t.Fatal(err)
		}

		c := &check{}
		for _, d := range cfg.Documents() {
			c.kind(document.Kind{}, d, nil)
		}

		var refused []string
		for _, f := range c.findings {
			refused = append(refused, f.Path)
		}

		if got := strings.Join(refused, " "); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: refused %q, want %q", tt.text, got, tt.want)
		}
	}
}
