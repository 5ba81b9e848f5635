// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/platform"
)

// In a container only parameters of the network are set. One that the kernel refuses is unsupported.
func TestParamsInContainer(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		"proc/sys/net/ipv4/ip_forward": "0\n", "proc/sys/kernel/panic": "10\n", "sys/module/loop/parameters/max_loop": "8\n",
	}

	for path, text := range files {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// A folder cannot be written as a file, not even by root.
	if err := os.MkdirAll(filepath.Join(root, "proc/sys/net/core/rmem_max"), 0o755); err != nil {
		t.Fatal(err)
	}

	c := &paramController{root: root, platform: platform.Platform{Mode: platform.Container}, original: map[string]string{}}

	for _, tt := range []struct {
		id    string
		want  runtime.KernelParamStatusSpec
		fails bool
	}{
		{"proc.sys.net.ipv4.ip_forward", runtime.KernelParamStatusSpec{Current: "1", Default: "0"}, false},
		{"proc.sys.net.bridge.none", runtime.KernelParamStatusSpec{Unsupported: true}, false},
		{"proc.sys.net.core.rmem_max", runtime.KernelParamStatusSpec{}, true},
		{"proc.sys.kernel.panic", runtime.KernelParamStatusSpec{Current: "10", Unsupported: true}, false},
		{"proc.sys.net.//.kernel.panic", runtime.KernelParamStatusSpec{Current: "10", Unsupported: true}, false},
		{"proc.sys.vm.none", runtime.KernelParamStatusSpec{Unsupported: true}, false},
		{"sys.module.loop.parameters.max_loop", runtime.KernelParamStatusSpec{Current: "8", Unsupported: true}, false},
	} {
		got, err := c.apply(tt.id, param{Value: "1"})
		if d := cmp.Diff(tt.want, got); d != "" || (err != nil) != tt.fails {
			t.Errorf("%s: error %v (-want +got):\n%s", tt.id, err, d)
		}
	}

	for path, old := range files {
		now, err := os.ReadFile(filepath.Join(root, path))
		if changed := string(now) != old; err != nil || changed != strings.Contains(path, "/net/") {
			t.Errorf("%s: changed %t, %v", path, changed, err)
		}
	}
}

func TestControllersInContainer(t *testing.T) {
	for _, tt := range []struct {
		mode platform.Mode
		want bool
	}{{platform.Metal, true}, {platform.Container, false}} {
		got := false

		for _, c := range Controllers(Deps{Platform: platform.Platform{Mode: tt.mode}}) {
			got = got || c.Name() == "runtime.KernelModuleSpecController" || c.Name() == "runtime.HotplugController"
		}

		if got != tt.want {
			t.Errorf("%s: modules are loaded: got %t, want %t", tt.mode, got, tt.want)
		}
	}
}
