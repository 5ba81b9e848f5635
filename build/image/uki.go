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
)

// defaultArgs are the kernel's arguments. The system checks the first two at boot (package boot).
//
// A kernel fault causes a panic, and a panic a reboot. Without these arguments the kernel would hang until a controller sets
// kernel.panic. lockdown=integrity prevents root, and so each privileged pod, from changing the running kernel; without it,
// kexec could start an unsigned kernel. page_alloc.shuffle=1 costs one pass over the free memory at boot. init_on_free=1 is not
// set: the kernel clears memory when it allocates it (INIT_ON_ALLOC_DEFAULT_ON), and clearing it again when it is freed costs 3
// to 5 % in most cases (the kernel's security/Kconfig.hardening).
var defaultArgs = []string{
	"slab_nomerge", "pti=on", "panic=10", "oops=panic", "lockdown=integrity", "module.sig_enforce=1", "page_alloc.shuffle=1",
	"proc_mem.force_override=never", "consoleblank=0", "printk.devkmsg=on", "talos.platform=metal", "console=tty0", "console=ttyS0",
}

// Cmdline returns the kernel's command line.
func (o Options) Cmdline() string {
	return strings.Join(append(defaultArgs[:len(defaultArgs):len(defaultArgs)], o.ExtraArgs...), " ")
}

// ukiName returns the name of the unified kernel image, which is that of its boot entry.
func (o Options) ukiName() string { return filepath.Base(artifact.Published.UKIOf(o.Version)) }

// ukiStep creates the unified kernel image.
func ukiStep(o Options) graph.Step {
	return graph.Step{
		Name:   artifact.TargetUKI,
		About:  "the unified kernel image",
		Needs:  []string{artifact.TargetInitramfs, artifact.TargetBoot, artifact.TargetKernel},
		Inputs: o.inputs(o.Version, o.Cmdline()),
		Run: func(_ context.Context, w *graph.Work) error {
			release, err := artifact.Modules(w.Needs[artifact.TargetKernel].Dir)
			if err != nil {
				return err
			}

			boot := w.Needs[artifact.TargetInitramfs].Dir
			image := UKI{OSRelease: osRelease(o.Version), Cmdline: o.Cmdline(), Release: filepath.Base(release)}

			for file, data := range map[string]*[]byte{"vmlinuz": &image.Kernel, "initramfs.img": &image.Initramfs} {
				if *data, err = os.ReadFile(filepath.Join(boot, file)); err != nil {
					return fmt.Errorf("unified kernel image: %w", err)
				}
			}

			joined, err := image.Join(filepath.Join(w.Needs[artifact.TargetBoot].Dir, artifact.EFIStub))
			if err != nil {
				return err
			}

			return os.WriteFile(filepath.Join(w.Dir, o.ukiName()), joined, 0o644)
		},
		Publish: map[string]string{o.ukiName(): artifact.Published.UKIOf(o.Version)},
	}
}
