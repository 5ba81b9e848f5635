// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"os"

	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/mount"
)

// hideSecrets binds a command line without secrets over the kernel's, for all that sees this procfs: services, the kubelet, pods
// that have the host's /proc. It does nothing when there is nothing to hide. A container has a procfs of its own, which shows what
// the kernel was given: such an argument is for machines that run no one else's containers.
func hideSecrets(line, proc, shown string) error {
	redacted := cmdline.Redact(line)
	if redacted == line {
		return nil
	}

	if err := os.WriteFile(shown, []byte(redacted), 0o444); err != nil {
		return fmt.Errorf("hide the configuration of the kernel command line: %w", err)
	}

	return mount.Bind(shown, proc, hardened|mount.ReadOnly)
}
