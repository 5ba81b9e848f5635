// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/pe"
	"github.com/seed-59268b81/talos/version"
)

// defaultArgs are the kernel's arguments. The first two are demanded at boot (package boot).
//
// A panic ends in a reboot from the first moment on, and a fault of the kernel in a panic: by itself this kernel would hang
// for ever until a controller has set kernel.panic. lockdown=integrity keeps root, that is each privileged pod, from changing
// the running kernel; without it a kernel that nobody signed could be started by kexec. page_alloc.shuffle=1 costs one pass over
// the free memory at boot. init_on_free=1 is not there: memory is cleared when it is given out (INIT_ON_ALLOC_DEFAULT_ON), and to
// clear it when it is given back as well costs 3 to 5 % in most cases (the kernel's security/Kconfig.hardening).
var defaultArgs = []string{
	"slab_nomerge", "pti=on", "panic=10", "oops=panic", "lockdown=integrity", "module.sig_enforce=1", "page_alloc.shuffle=1",
	"proc_mem.force_override=never", "consoleblank=0", "printk.devkmsg=on", "talos.platform=metal", "console=tty0", "console=ttyS0",
}

// Cmdline is the kernel's command line.
func (o Options) Cmdline() string {
	return strings.Join(append(defaultArgs[:len(defaultArgs):len(defaultArgs)], o.ExtraArgs...), " ")
}

var ukiName = filepath.Base(artifact.Published.UKI())

// ukiStep makes the unified kernel image.
func ukiStep(o Options) graph.Step {
	return graph.Step{
		Name:   artifact.TargetUKI,
		About:  "the unified kernel image",
		Needs:  []string{artifact.TargetInitramfs, artifact.TargetBoot, artifact.TargetKernel},
		Inputs: o.inputs(version.Tag, o.Cmdline()),
		Run: func(_ context.Context, w *graph.Work) error {
			release, err := artifact.Modules(w.Needs[artifact.TargetKernel].Dir)
			if err != nil {
				return err
			}

			image, err := unify(filepath.Join(w.Needs[artifact.TargetBoot].Dir, artifact.EFIStub), w.Needs[artifact.TargetInitramfs].Dir, []pe.Section{
				{Name: ".osrel", Data: []byte(osRelease(version.Tag))},
				{Name: ".cmdline", Data: []byte(o.Cmdline())},
				{Name: ".uname", Data: []byte(filepath.Base(release))},
			})
			if err != nil {
				return err
			}

			return os.WriteFile(filepath.Join(w.Dir, ukiName), image, 0o644)
		},
		Publish: map[string]string{ukiName: artifact.Published.UKI()},
	}
}

// unify adds sections to a stub, and behind them the kernel and the initramfs of a folder.
func unify(stub, boot string, sections []pe.Section) ([]byte, error) {
	program, err := os.ReadFile(stub)
	if err != nil {
		return nil, fmt.Errorf("unified kernel image: %w", err)
	}

	for _, s := range []struct{ name, file string }{{".linux", "vmlinuz"}, {".initrd", "initramfs.img"}} {
		data, err := os.ReadFile(filepath.Join(boot, s.file))
		if err != nil {
			return nil, fmt.Errorf("unified kernel image: %w", err)
		}

		sections = append(sections, pe.Section{Name: s.name, Data: data})
	}

	return pe.Append(program, sections)
}
