// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hardware

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/service"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// The rules of the key and of the document are the lines of one file, which is there without rules too.
func TestUdevRules(t *testing.T) {
	n := controllertest.Start(t, UdevRulesController())
	has := func(text string) func(files.EtcFileSpecSpec) bool {
		return func(s files.EtcFileSpecSpec) bool { return s.Contents == text }
	}

	controllertest.Wait(n, layout.UdevRules, has(""))
	n.Configure([]byte("machine:\n  type: worker\n  udev:\n    rules:\n      - KERNEL==\"a\"\n      - KERNEL==\"b\"\n"))
	controllertest.Wait(n, layout.UdevRules, has("KERNEL==\"a\"\nKERNEL==\"b\"\n"))
	n.Configure([]byte("machine:\n  type: worker\n---\napiVersion: v1alpha1\nkind: UdevRulesConfig\nrules:\n  - KERNEL==\"c\"\n"))
	controllertest.Wait(n, layout.UdevRules, has("KERNEL==\"c\"\n"))
	n.Configure([]byte("machine:\n  type: worker\n"))
	controllertest.Wait(n, layout.UdevRules, has(""))
}

// udev is a fake of udevd, which services are applied to and udevadm is run on.
type udev struct {
	mu      sync.Mutex
	applied []string
	calls   []string
	fails   int
	says    string
}

func (u *udev) Apply(s supervisor.Service) error {
	u.mu.Lock()
	defer u.mu.Unlock()

	u.applied = append(u.applied, s.ID)

	return nil
}

func (u *udev) run(_ context.Context, args ...string) (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()

	u.calls = append(u.calls, args[0])

	if u.fails > 0 {
		u.fails--

		return "", errors.New("no answer")
	}

	return u.says, nil
}

// take returns the calls since the last time.
func (u *udev) take() string {
	u.mu.Lock()
	defer u.mu.Unlock()

	calls := strings.Join(u.calls, " ")
	u.calls = nil

	return calls
}

// TestUdevd: it is started when the drivers are loaded and its rules are written, not before.
func TestUdevd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, settled := &udev{}, make(chan struct{})
		n := controllertest.Start(t, UdevdController(u, u.run, settled))

		controllertest.Set(n, layout.UdevRules, files.EtcFileStatusSpec{SpecVersion: "1"})
		n.Quiet(time.Minute)

		if len(u.applied) > 0 {
			t.Errorf("got %q before the drivers are loaded", u.applied)
		}

		close(settled)
		synctest.Wait()
		time.Sleep(time.Second)

		u.mu.Lock()
		defer u.mu.Unlock()

		if len(u.applied) != 1 || u.applied[0] != UdevdID {
			t.Errorf("got %q", u.applied)
		}
	})
}

// TestDevicesStatus: all devices are handled when udevd answers, by changed rules again, and by the next udevd again.
func TestDevicesStatus(t *testing.T) {
	const all = "control trigger trigger settle"

	synctest.Test(t, func(t *testing.T) {
		u := &udev{fails: 1}
		n := controllertest.Start(t, DevicesStatusController(u.run))

		controllertest.Set(n, layout.UdevRules, files.EtcFileStatusSpec{SpecVersion: "1"})
		controllertest.Set(n, UdevdID, service.ServiceSpec{Running: true})
		n.Quiet(time.Minute)

		if got := u.take(); got != "" {
			t.Errorf("before udevd answers: got %q", got)
		}

		controllertest.Set(n, UdevdID, service.ServiceSpec{Running: true, Healthy: true})
		controllertest.Wait(n, runtime.DevicesStatusID, func(s runtime.DevicesStatusSpec) bool { return s.Ready })

		if got := u.take(); got != "control "+all {
			t.Errorf("got %q", got)
		}

		// One that does not answer for a while has not lost its events.
		controllertest.Set(n, UdevdID, service.ServiceSpec{Running: true})
		n.Quiet(time.Minute)

		if got := u.take(); got != "" {
			t.Errorf("got %q without a change", got)
		}

		controllertest.Set(n, layout.UdevRules, files.EtcFileStatusSpec{SpecVersion: "2"})
		n.Quiet(time.Minute)

		if got := u.take(); got != all {
			t.Errorf("after a change of the rules: got %q", got)
		}

		controllertest.Set(n, UdevdID, service.ServiceSpec{})
		cositest.WaitGone[runtime.DevicesStatusSpec](n.Environment, runtime.DevicesStatusID)
		controllertest.Set(n, UdevdID, service.ServiceSpec{Running: true, Healthy: true})
		controllertest.Wait[runtime.DevicesStatusSpec](n, runtime.DevicesStatusID, nil)

		if got := u.take(); got != all {
			t.Errorf("after a restart: got %q", got)
		}
	})
}

// TestIgnoredRules: what udevd ignores of the rules of the configuration has a condition, until the rules are corrected. The text is what
// systemd 252 prints.
func TestIgnoredRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &udev{says: "Reading rules file: /usr/lib/udev/rules.d/50-udev-default.rules\n" +
			"/usr/lib/udev/rules.d/50-udev-default.rules:33 Unknown group 'tty', ignoring\n" +
			"Reading rules file: /etc/udev/rules.d/99-talos.rules\n" +
			"/etc/udev/rules.d/99-talos.rules:1 Invalid key/value pair, ignoring.\n" +
			"/etc/udev/rules.d/99-talos.rules:3 Unknown group 'nogroupx', ignoring\n"}
		n := controllertest.Start(t, DevicesStatusController(u.run))

		controllertest.Set(n, layout.UdevRules, files.EtcFileSpecSpec{Contents: "BOGUS\n"})
		controllertest.Set(n, layout.UdevRules, files.EtcFileStatusSpec{SpecVersion: "1"})
		controllertest.Set(n, UdevdID, service.ServiceSpec{Running: true, Healthy: true})
		controllertest.Wait(n, rulesCondition, func(s runtime.SettingConditionSpec) bool {
			return s.Cause == "line 1 Invalid key/value pair, ignoring.; line 3 Unknown group 'nogroupx', ignoring"
		})

		// Without rules there is nothing to read.
		controllertest.Set(n, layout.UdevRules, files.EtcFileSpecSpec{})
		controllertest.Set(n, layout.UdevRules, files.EtcFileStatusSpec{SpecVersion: "2"})
		cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, rulesCondition)
		controllertest.Wait(n, runtime.DevicesStatusID, func(s runtime.DevicesStatusSpec) bool { return s.Ready })
	})
}
