// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package runtime holds the controllers of the machine as a whole.
package runtime

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/version"
)

// IdentityController publishes what does not change while the machine runs: the version of the system, the boot's id, the kernel's
// command line and how the machine was booted. Root is "/" outside of tests.
func IdentityController(root fs.FS) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.IdentityController",
		Writes: []controller.Output{
			controller.Out[runtime.VersionSpec](controller.Exclusive),
			controller.Out[runtime.BootIDSpec](controller.Exclusive),
			controller.Out[runtime.KernelCmdlineSpec](controller.Exclusive),
			controller.Out[runtime.SecurityStateSpec](controller.Exclusive),
		},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			bootID, err := fs.ReadFile(root, "proc/sys/kernel/random/boot_id")
			if err != nil {
				return err
			}

			line, err := fs.ReadFile(root, "proc/cmdline")
			if err != nil {
				return err
			}

			security, err := securityState(root)
			if err != nil {
				return err
			}

			return errors.Join(
				typed.Set(ctx, rt, "", runtime.VersionID, runtime.VersionSpec{Version: version.Tag, Name: version.Name}),
				typed.Set(ctx, rt, "", runtime.BootIDID, runtime.BootIDSpec{BootID: strings.TrimSpace(string(bootID))}),
				typed.Set(ctx, rt, "", runtime.KernelCmdlineID, runtime.KernelCmdlineSpec{Cmdline: strings.TrimSpace(cmdline.Redact(string(line)))}),
				typed.Set(ctx, rt, "", runtime.SecurityStateID, security),
			)
		},
	}
}

// EFI variables that show how the machine was booted: the firmware's SecureBoot, and systemd-stub's StubInfo, which only a UKI sets. The
// content of a variable follows four bytes of attributes.
const (
	secureBootVar = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
	stubInfoVar   = "sys/firmware/efi/efivars/StubInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
	// sigEnforcedFile has the kernel's value of module.sig_enforce.
	sigEnforcedFile = "sys/module/module/parameters/sig_enforce"
)

func securityState(root fs.FS) (runtime.SecurityStateSpec, error) {
	secure, err := fs.ReadFile(root, secureBootVar)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return runtime.SecurityStateSpec{}, err
	}

	enforced, err := fs.ReadFile(root, sigEnforcedFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return runtime.SecurityStateSpec{}, err
	}

	_, stubErr := fs.Stat(root, stubInfoVar)

	return runtime.SecurityStateSpec{
		SecureBoot:              len(secure) >= 5 && secure[4] == 1,
		BootedWithUKI:           stubErr == nil,
		ModuleSignatureEnforced: strings.TrimSpace(string(enforced)) == "Y",
	}, nil
}
