// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	runtimectl "github.com/seed-59268b81/talos/controllers/runtime"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// variables is a fake environment.
type variables struct {
	mu  sync.Mutex
	all map[string]string
}

func (v *variables) lookup(name string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()

	value, ok := v.all[name]

	return value, ok
}

func (v *variables) set(name, value string) error {
	v.mu.Lock()
	defer v.mu.Unlock()

	v.all[name] = value

	return nil
}

func (v *variables) unset(name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()

	delete(v.all, name)

	return nil
}

// wait waits until the environment is as wanted.
func (v *variables) wait(t *testing.T, want map[string]string) {
	t.Helper()

	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		v.mu.Lock()
		got := maps.Clone(v.all)
		v.mu.Unlock()

		if maps.Equal(got, want) {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("(-want +got):\n%s", cmp.Diff(want, got))
		}
	}
}

// TestEnvironment follows the variables of the configuration, from their appearance to their removal.
func TestEnvironment(t *testing.T) {
	v := &variables{all: map[string]string{"PATH": "/bin"}}
	n := controllertest.Start(t, runtimectl.EnvironmentController(), runtimectl.ProcessEnvironmentController(v.lookup, v.set, v.unset))

	const document = "---\napiVersion: v1alpha1\nkind: EnvironmentConfig\nvariables:\n"

	n.Configure([]byte("machine: {type: worker}\n" + document + "  https_proxy: http://proxy.example:3128\n  PATH: /opt\n  a: '1'\n"))
	controllertest.Wait(n, runtime.EnvironmentID, func(e runtime.EnvironmentSpec) bool {
		return slices.Equal(e.Variables, []string{"PATH=/opt", "a=1", "https_proxy=http://proxy.example:3128"})
	})
	v.wait(t, map[string]string{"PATH": "/opt", "a": "1", "https_proxy": "http://proxy.example:3128"})

	n.Configure([]byte("machine: {type: worker, env: {a: '2'}}\n"))
	v.wait(t, map[string]string{"PATH": "/bin", "a": "2"})

	n.Configure([]byte("machine: {type: worker}\n"))
	v.wait(t, map[string]string{"PATH": "/bin"})
	controllertest.Wait(n, runtime.EnvironmentID, func(e runtime.EnvironmentSpec) bool { return len(e.Variables) == 0 })
}
