// SPDX-License-Identifier: Apache-2.0

package image

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/machine/boot"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// TestKernelArguments checks the default arguments, and that additional ones override them.
func TestKernelArguments(t *testing.T) {
	line := Options{ExtraArgs: []string{"panic=0", "debug"}}.Cmdline()
	if err := boot.CheckArgs(line, "Mitigation: PTI"); err != nil {
		t.Error(err)
	}

	args := cmdline.Parse(Options{}.Cmdline())

	for name, want := range map[string]string{
		"panic": "10", "oops": "panic", "lockdown": "integrity", "module.sig_enforce": "1", "pti": "on", "printk.devkmsg": "on",
	} {
		if got, ok := args.Get(name); !ok || got != want {
			t.Errorf("%s: got %q (%t), want %q", name, got, ok, want)
		}
	}

	// The system loads no SELinux policy, so the argument would be misleading.
	if _, ok := args.Get("selinux"); ok {
		t.Error("got an argument selinux, want none")
	}

	if got, _ := cmdline.Parse(line).Get("panic"); got != "0" || !strings.HasSuffix(line, " debug") {
		t.Errorf("additional arguments: got %q", line)
	}
}

// TestModulesAbsent checks that build -sizes lists exactly the modules that the kernel does not have.
func TestModulesAbsent(t *testing.T) {
	kernel := t.TempDir()
	dir := kernel + "/lib/modules/6.1.0-test"

	write(t, dir+"/modules.dep", "kernel/loop.ko:\nkernel/squashfs.ko:\n")
	write(t, dir+"/modules.builtin", "kernel/ext4.ko\n")

	var out strings.Builder
	if err := printAbsent(&out, kernel); err != nil {
		t.Fatal(err)
	}

	got := strings.Fields(out.String())
	absent := map[string]bool{}

	for _, name := range got {
		if absent[name] {
			t.Errorf("%s is listed twice", name)
		}

		absent[name] = true
	}

	for name, want := range map[string]bool{"i6300esb": true, "sp5100_tco": true, "e1000e": true, "loop": false, "ext4": false} {
		if absent[name] != want {
			t.Errorf("%s is listed: %t, want %t, in %q", name, absent[name], want, out.String())
		}
	}

	if !strings.HasPrefix(out.String(), "kernel 6.1.0-test does not have: ") {
		t.Errorf("got %q", out.String())
	}
}
