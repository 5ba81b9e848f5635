// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"os"

	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/mount"
)

// hideSecrets binds a command line without secrets over the kernel's, for every process with this procfs: services, the kubelet,
// and pods that have the host's /proc. It does nothing when there is no secret. Containers have their own procfs, which shows the
// original: use such arguments only on machines whose containers are trusted.
func hideSecrets(line, proc, shown string) error {
	redacted := cmdline.Redact(line)
	if redacted == line {
		return nil
	}

	if err := os.WriteFile(shown, []byte(redacted), 0o444); err != nil {
		return fmt.Errorf("hide the configuration in the kernel command line: %w", err)
	}

	return mount.Bind(shown, proc, hardened|mount.ReadOnly)
}
