// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/platform"
)

// modules is a loader that has some modules.
type modules struct {
	mu     sync.Mutex
	has    []string
	loaded map[string][]string
}

func (m *modules) Load(name string, params ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	if !slices.Contains(m.has, name) {
		return errors.New("no such module: " + name)
	}

	m.loaded[name] = params

	return nil
}

// parameters returns those that a module was loaded with, or nil if it was not.
func (m *modules) parameters(name string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.loaded[name]
}

const kernelDocuments = `apiVersion: v1alpha1
kind: SysctlConfig
params: {net.ipv4.ip_forward: "1"}
---
apiVersion: v1alpha1
kind: SysfsConfig
params: {devices.system.cpu.cpu0.cpufreq.scaling_governor: performance}
---
apiVersion: v1alpha1
kind: KernelModuleConfig
name: btrfs
parameters: [a=1]
---
apiVersion: v1alpha1
kind: KernelModuleConfig
name: absent
`

// TestDocuments follows the documents about the kernel to its files and its modules, and back when they are removed.
func TestDocuments(t *testing.T) {
	const forward, governor = "proc/sys/net/ipv4/ip_forward", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"

	root := t.TempDir()

	for path, text := range map[string]string{forward: "0\n", governor: "powersave\n"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	loader := &modules{has: append([]string{"btrfs"}, needed...), loaded: map[string][]string{}}
	n := controllertest.Start(t, ParamConfigController(), ParamController(root, platform.Platform{}), ModuleConfigController(), ModuleController(loader))
	n.Configure([]byte(kernelDocuments))

	for id, want := range map[string]runtime.KernelParamStatusSpec{
		"proc.sys.net.ipv4.ip_forward":                         {Current: "1", Default: "0"},
		"sys.devices.system.cpu.cpu0.cpufreq.scaling_governor": {Current: "performance", Default: "powersave"},
	} {
		got := controllertest.Wait[runtime.KernelParamStatusSpec](n, id, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}

	controllertest.Wait(n, "module/absent", func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "no such module") })

	// The modules are known one after the other, so the other one may be loaded later.
	for deadline := time.Now().Add(20 * time.Second); !slices.Equal(loader.parameters("btrfs"), []string{"a=1"}); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("btrfs is loaded with %q, want a=1", loader.parameters("btrfs"))
		}
	}

	n.Configure([]byte("machine:\n  type: worker\n"))
	cositest.WaitGone[runtime.KernelParamStatusSpec](n.Environment, "proc.sys.net.ipv4.ip_forward")
	cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, "module/absent")

	for path, want := range map[string]string{forward: "0", governor: "powersave"} {
		if got, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
}
