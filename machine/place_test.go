// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/platform"
)

func TestCompleted(t *testing.T) {
	sys := t.TempDir()
	dmi := filepath.Join(sys, "class/dmi/id")

	if err := os.MkdirAll(dmi, 0o755); err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string]string{"product_uuid": "4C4C4544-0042\n", "product_serial": "ABC\n", "sys_vendor": "VMware, Inc.\n"} {
		if err := os.WriteFile(filepath.Join(dmi, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	hw := platform.Hardware{UUID: "4c4c4544-0042", Serial: "ABC", Vendor: "VMware, Inc."}
	elsewhere := errors.New("not a virtual machine of VMware")
	container := platform.Platform{Mode: platform.Container}

	for _, tt := range []struct {
		args    string
		before  platform.Platform
		want    platform.Platform
		wantErr string
	}{
		{"", platform.Platform{}, platform.Platform{Hardware: hw}, ""},
		{"talos.platform=metal", platform.Platform{}, platform.Platform{Hardware: hw}, ""},
		{"talos.platform=aws", platform.Platform{}, platform.Platform{Mode: platform.Cloud, Cloud: "aws", Hardware: hw}, ""},
		{"talos.platform=vmware", platform.Platform{}, platform.Platform{Mode: platform.Cloud, Cloud: "vmware", Hardware: hw}, ""},
		{"talos.platform=vmware elsewhere", platform.Platform{}, platform.Platform{Hardware: hw}, "talos.platform=vmware: not a virtual machine of VMware"},
		{"talos.platform=moon", platform.Platform{}, platform.Platform{Hardware: hw}, "talos.platform=moon: unknown platform: want metal or one of akamai, "},
		{"talos.platform=aws", container, container, ""}, // the arguments are the host's
	} {
		got, err := completed(tt.before, cmdline.Parse(tt.args), sys, func(got platform.Hardware) error {
			if got != hw {
				t.Errorf("%q: got hardware %+v, want %+v", tt.args, got, hw)
			}

			if strings.Contains(tt.args, "elsewhere") {
				return elsewhere
			}

			return nil
		})
		if got != tt.want || (err != nil) != (tt.wantErr != "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("%q: got %+v, %v, want %+v, %q", tt.args, got, err, tt.want, tt.wantErr)
		}
	}

	for mode, want := range map[platform.Platform]string{{}: "metal", container: "container", platform.Platform{}.On("aws"): "aws"} {
		if mode.Name() != want {
			t.Errorf("%+v: got name %s, want %s", mode, mode.Name(), want)
		}
	}
}
