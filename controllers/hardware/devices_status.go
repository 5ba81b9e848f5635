// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hardware

import (
	"context"
	"log/slog"
	"strings"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/service"
)

// rulesCondition is the id of the condition of the rules.
const rulesCondition = "udev-rules"

// DevicesStatusController has udevd handle the devices that are there already, when it has started and when the rules have changed.
// DevicesStatus is ready when udevd has handled them: all links exist. It blocks until then. Rules of the configuration that udevd ignores have a
// SettingCondition.
func DevicesStatusController(run Udevadm) controller.Controller {
	var (
		handled string // the version of the rules by which the devices were handled, or "" for none
		faults  string // of these rules
	)

	return &controller.Reconciler{
		ControllerName: "runtime.DevicesStatusController",
		Reads: []controller.Input{
			controller.In[service.ServiceSpec](controller.Weak, "", UdevdID),
			controller.In[files.EtcFileSpecSpec](controller.Weak, "", layout.UdevRules),
			controller.In[files.EtcFileStatusSpec](controller.Weak, "", layout.UdevRules),
		},
		Writes: []controller.Output{
			controller.Out[runtime.DevicesStatusSpec](controller.Exclusive), controller.Out[runtime.SettingConditionSpec](controller.Shared),
		},
		Cleanup: []resource.Kind{resource.KindOf[runtime.DevicesStatusSpec](""), resource.KindOf[runtime.SettingConditionSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				udevd service.ServiceSpec
				rules files.EtcFileStatusSpec
			)

			if f := typed.Read(ctx, rt, UdevdID, &udevd); f.Err != nil {
				return f.Err
			}

			if !udevd.Running { // the next one has not seen the events until then
				handled = ""

				return nil
			}

			f := typed.Read(ctx, rt, layout.UdevRules, &rules)
			if f.Err != nil {
				return f.Err
			}

			if handled == "" && (!udevd.Healthy || !f.OK) {
				return nil // it does not answer yet
			}

			if handled != rules.SpecVersion {
				if err := handle(ctx, run); err != nil {
					return err
				}

				var file files.EtcFileSpecSpec
				if f := typed.Read(ctx, rt, layout.UdevRules, &file); f.Err != nil {
					return f.Err
				}

				if faults = ""; file.Contents != "" {
					var err error
					if faults, err = ignored(ctx, run); err != nil {
						return err
					}
				}

				handled = rules.SpecVersion
			}

			if faults != "" {
				if err := typed.Set(ctx, rt, "", rulesCondition, runtime.SettingConditionSpec{Cause: faults}); err != nil {
					return err
				}
			}

			return typed.Set(ctx, rt, "", runtime.DevicesStatusID, runtime.DevicesStatusSpec{Ready: true})
		},
	}
}

// handle has udevd read its rules and handle all devices, and returns when it has.
func handle(ctx context.Context, run Udevadm) error {
	for _, args := range [][]string{
		{"control", "--reload"},
		{"trigger", "--type=subsystems", "--action=add"},
		{"trigger", "--type=devices", "--action=add"},
		{"settle", "--timeout=60"},
	} {
		if _, err := run(ctx, args...); err != nil {
			return err
		}
	}

	return nil
}

// ignored returns what udevd ignores of the rules of the configuration, and why. It reads the rules as udevd does, which only logs that.
func ignored(ctx context.Context, run Udevadm) (string, error) {
	out, err := run(ctx, "test", "--action=add", "/sys/devices/virtual/mem/null")
	if err != nil {
		return "", err
	}

	var all []string

	for line := range strings.Lines(out) {
		if at, found := strings.CutPrefix(strings.TrimSpace(line), "/etc/"+layout.UdevRules+":"); found {
			all = append(all, "line "+at)
		}
	}

	return strings.Join(all, "; "), nil
}
