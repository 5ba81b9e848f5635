// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// hardening are the parameters that the Kernel Self Protection Project recommends
// (kspp.github.io/Recommended_Settings), with these exceptions:
//   - kernel.yama.ptrace_scope stays at 2, with which a debugger needs CAP_SYS_PTRACE; 3 forbids debuggers until the next boot.
//   - A kernel that warns continues; one that keeps warning panics (warn_limit).
//   - kernel.softlockup_panic stays at 0. The detector may count time in which the host does not run a virtual machine (overload, a pause, a live
//     migration): after 20 s (twice watchdog_thresh) it would panic a healthy node. A machine whose process 1 is stuck is reset by the watchdog.
//   - kernel.hung_task_panic stays at 0. A task waits longer than two minutes for a slow disk, or for an NFS server that is down, and goes on
//     later; one volume of one pod would restart the node.
//   - kernel.modules_disabled would keep the drivers of later devices out; modules are signed.
//
// The reverse path filter (rp_filter) is left to the network of the pods: Calico refuses the loose mode, and the strict mode drops
// traffic that comes in on one network card and leaves on another.
var hardening = map[string]string{
	"dev.tty.ldisc_autoload":           "0",
	"dev.tty.legacy_tiocsti":           "0",
	"fs.protected_symlinks":            "1",
	"fs.protected_hardlinks":           "1",
	"fs.protected_fifos":               "2",
	"fs.protected_regular":             "2",
	"fs.suid_dumpable":                 "0",
	"kernel.kexec_load_disabled":       "1",
	"kernel.kptr_restrict":             "2",
	"kernel.dmesg_restrict":            "1",
	"kernel.oops_limit":                "100",
	"kernel.perf_event_paranoid":       "3",
	"kernel.randomize_va_space":        "2",
	"kernel.sysrq":                     "0",
	"kernel.warn_limit":                "100",
	"kernel.yama.ptrace_scope":         "2",
	"kernel.unprivileged_bpf_disabled": "1",
	"net.core.bpf_jit_harden":          "2",
	"user.max_user_namespaces":         "0",
	"vm.mmap_rnd_bits":                 "32",
	"vm.mmap_rnd_compat_bits":          "16",
	"vm.unprivileged_userfaultfd":      "0",

	// A neighbor on the link does not change the routes of a node.
	"net.ipv4.conf.all.accept_redirects":        "0",
	"net.ipv4.conf.default.accept_redirects":    "0",
	"net.ipv4.conf.all.secure_redirects":        "0",
	"net.ipv4.conf.default.secure_redirects":    "0",
	"net.ipv4.conf.all.accept_source_route":     "0",
	"net.ipv4.conf.default.accept_source_route": "0",
	"net.ipv6.conf.all.accept_redirects":        "0",
	"net.ipv6.conf.default.accept_redirects":    "0",
}

// The files with the kernel's own state.
const (
	lockdownFile     = "sys/kernel/security/lockdown"
	modulesFile      = "sys/kernel/security/lsm"
	sigEnforcedFile  = "sys/module/module/parameters/sig_enforce"
	lockdownWanted   = "integrity"
	signaturesWanted = "Y"
)

// HardeningController publishes the protections of the kernel that are not in effect: parameters that the kernel does not have or
// refuses, or that the configuration weakens, and the kernel's own state. Root is "/" outside of tests.
func HardeningController(root fs.FS) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.HardeningController",
		Reads:          []controller.Input{controller.In[runtime.KernelParamStatusSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[runtime.HardeningConditionSpec](controller.Exclusive)},
		Cleanup:        []resource.Kind{resource.KindOf[runtime.HardeningConditionSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			statuses, err := typed.List[runtime.KernelParamStatusSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			set := map[string]runtime.KernelParamStatusSpec{}
			for _, s := range statuses {
				set[s.Metadata().ID()] = *s.TypedSpec()
			}

			files, err := kernelState(root)
			if err != nil {
				return err
			}

			conditions := weak(set, files)
			for _, id := range slices.Sorted(maps.Keys(conditions)) {
				if err := typed.Set(ctx, rt, "", id, conditions[id]); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

// kernelState reads the files with the kernel's state. A file that this kernel does not have is not in the result.
func kernelState(root fs.FS) (map[string]string, error) {
	files := map[string]string{}

	for _, name := range []string{lockdownFile, modulesFile, sigEnforcedFile} {
		text, err := fs.ReadFile(root, name)

		switch {
		case err == nil:
			files[name] = strings.TrimSpace(string(text))
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("read the state of the kernel's protections: %w", err)
		}
	}

	return files, nil
}

// weak returns the protections that are not in effect, by id.
func weak(set map[string]runtime.KernelParamStatusSpec, files map[string]string) map[string]runtime.HardeningConditionSpec {
	conditions := map[string]runtime.HardeningConditionSpec{}

	for name, want := range hardening {
		status, ok := set[sysctlID(name)]
		condition := runtime.HardeningConditionSpec{Want: want, Current: status.Current}

		switch {
		case !ok:
			condition.Cause = "it is not set yet"
		case status.Current == want:
			continue
		case status.Unsupported && status.Current == "":
			condition.Cause = "this kernel does not have it"
		case status.Unsupported:
			condition.Cause = "the kernel refuses the value"
		default:
			condition.Cause = "machine.sysctls sets another value"
		}

		conditions[name] = condition
	}

	if current := lockdown(files[lockdownFile]); current != lockdownWanted && current != "confidentiality" {
		conditions["lockdown"] = runtime.HardeningConditionSpec{
			Want: lockdownWanted, Current: current, Cause: "the kernel was started without lockdown=" + lockdownWanted + ", or does not have it",
		}
	}

	// Landlock is one of the barriers around the services that accept connections from outside (sys/sandbox).
	if current := files[modulesFile]; !slices.Contains(strings.Split(current, ","), "landlock") {
		conditions["landlock"] = runtime.HardeningConditionSpec{
			Want: "landlock", Current: current, Cause: "the kernel was started with lsm= and without it, or does not have it",
		}
	}

	if current := files[sigEnforcedFile]; current != signaturesWanted {
		conditions["module.sig_enforce"] = runtime.HardeningConditionSpec{
			Want: signaturesWanted, Current: current, Cause: "the kernel was started without module.sig_enforce=1, or does not have it",
		}
	}

	return conditions
}

// lockdown returns the selected mode of "none [integrity] confidentiality".
func lockdown(text string) string {
	_, rest, _ := strings.Cut(text, "[")
	chosen, _, _ := strings.Cut(rest, "]")

	return chosen
}
