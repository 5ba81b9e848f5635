// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/install/trial"
)

// upgrades adds the boot entry of the next version, which the next boot is to try, and withdraws it.
func (m *crashed) upgrades(t *testing.T) {
	m.c.Until("the image is imported", 5*time.Minute, func(ctx context.Context) error {
		out, err := m.c.TalosctlCommand(ctx, "image", "import", "--namespace", "system", released(t).Installer()).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s (make next builds it)", err, out)
		}

		return nil
	})

	m.phase("upgrade", false, []string{""}, func() {
		m.c.Talosctl("upgrade", "--image", generate.InstallerRepository+":"+nextVersion, "--no-reboot", "--timeout", upgradeTime.String())
	}).upgrades = true
	m.phase("withdraw", false, []string{""}, func() { m.c.Talosctl("confirm", "--revert") }).upgrades = true
}

// next returns the digest of the file that the boot entry of the next version has.
func (m *crashed) next() string {
	m.t.Helper()

	text, err := os.ReadFile(released(m.t).UKIOf(nextVersion))
	if err != nil {
		m.t.Fatal(err)
	}

	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:])
}

// second checks the files that the partition EFI has beside the first boot entry: none, or all of the second one. One that the next boot tries
// is there.
func (l *looking) second(record trial.Record, added map[string]string, may bool) error {
	for name, sum := range added {
		if !may || sum != l.next || len(added) > 1 {
			return fmt.Errorf("the partition EFI has %s with the digest %s", name, sum)
		}
	}

	if len(added) == 0 && record.Entry.To != "" && !record.State.Decided() {
		return errors.New("META has a trial of a boot entry that is not there")
	}

	return nil
}
