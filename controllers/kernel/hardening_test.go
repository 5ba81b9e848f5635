// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"maps"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/runtime"
)

func TestWeak(t *testing.T) {
	hard := map[string]runtime.KernelParamStatusSpec{}
	for name, value := range hardening {
		hard[sysctlID(name)] = runtime.KernelParamStatusSpec{Current: value}
	}

	locked := map[string]string{lockdownFile: "none [integrity] confidentiality", sigEnforcedFile: "Y", modulesFile: "lockdown,capability,landlock,yama"}

	const name = "kernel.kexec_load_disabled"

	for _, tt := range []struct {
		name  string
		set   *runtime.KernelParamStatusSpec // of name; nil for none
		files map[string]string
		want  map[string]runtime.HardeningConditionSpec
	}{
		{"all holds", &runtime.KernelParamStatusSpec{Current: "1"}, locked, nil},
		{
			"more than that", &runtime.KernelParamStatusSpec{Current: "1"},
			map[string]string{lockdownFile: "none integrity [confidentiality]", sigEnforcedFile: "Y", modulesFile: "lockdown,capability,landlock,yama"}, nil,
		},
		{"not yet", nil, locked, map[string]runtime.HardeningConditionSpec{name: {Want: "1", Cause: "it is not set yet"}}},
		{
			"an older kernel", &runtime.KernelParamStatusSpec{Unsupported: true}, locked,
			map[string]runtime.HardeningConditionSpec{name: {Want: "1", Cause: "this kernel does not have it"}},
		},
		{
			"refused", &runtime.KernelParamStatusSpec{Current: "0", Unsupported: true}, locked,
			map[string]runtime.HardeningConditionSpec{name: {Want: "1", Current: "0", Cause: "the kernel refuses the value"}},
		},
		{
			"configured", &runtime.KernelParamStatusSpec{Current: "0"}, locked,
			map[string]runtime.HardeningConditionSpec{name: {Want: "1", Current: "0", Cause: "machine.sysctls sets another value"}},
		},
		{
			"another boot entry", &runtime.KernelParamStatusSpec{Current: "1"},
			map[string]string{lockdownFile: "[none] integrity confidentiality", sigEnforcedFile: "N", modulesFile: "capability,landlocked"},
			map[string]runtime.HardeningConditionSpec{
				"lockdown":           {Want: "integrity", Current: "none", Cause: "the kernel was started without lockdown=integrity, or does not have it"},
				"landlock":           {Want: "landlock", Current: "capability,landlocked", Cause: "the kernel was started with lsm= and without it, or does not have it"},
				"module.sig_enforce": {Want: "Y", Current: "N", Cause: "the kernel was started without module.sig_enforce=1, or does not have it"},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := maps.Clone(hard)
			delete(set, sysctlID(name))

			if tt.set != nil {
				set[sysctlID(name)] = *tt.set
			}

			got := weak(set, tt.files)
			if len(got) == 0 {
				got = nil
			}

			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("got - want +:\n%s", diff)
			}
		})
	}
}

// TestHardening: a protection that is not in effect has a condition, until it is.
func TestHardening(t *testing.T) {
	root := fstest.MapFS{
		lockdownFile: {Data: []byte("none [integrity] confidentiality\n")}, sigEnforcedFile: {Data: []byte("Y\n")},
		modulesFile: {Data: []byte("capability,landlock")},
	}
	n := controllertest.Start(t, ParamDefaultsController(), HardeningController(root))

	for name, value := range hardening {
		controllertest.Wait(n, sysctlID(name), func(s runtime.KernelParamDefaultSpecSpec) bool { return s.Value == value })
		controllertest.Wait(n, name, func(s runtime.HardeningConditionSpec) bool { return s.Want == value })
	}

	for name, value := range hardening {
		controllertest.Set(n, sysctlID(name), runtime.KernelParamStatusSpec{Current: value})
	}

	for name := range hardening {
		ptr := resource.PointerOf[runtime.HardeningConditionSpec]("", name)

		_, err := n.WatchFor(t.Context(), ptr, state.EventTypeIs(state.Destroyed))
		if err != nil {
			t.Fatal(err)
		}
	}
}
