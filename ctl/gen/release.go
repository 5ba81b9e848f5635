// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"io"
	"strings"

	"github.com/seed-59268b81/talos/config/generate"
)

// talosVersionUsage describes the flag that contractOf reads.
const talosVersionUsage = "generate for this release, v1.12 or later (default: the newest one of which machines of this release accept all documents)"

// contractOf returns the contract that the flag --talos-version chooses.
func contractOf(release string) (generate.Contract, error) {
	if release == "" {
		return generate.Accepted(), nil
	}

	contract, err := generate.ParseContract(release)
	if err != nil {
		return 0, fmt.Errorf("--talos-version: %w", err)
	}

	return contract, nil
}

// warnRefused writes which documents of a contract machines of this release refuse.
func warnRefused(out io.Writer, contract generate.Contract) error {
	refused, err := generate.Refused(contract)
	if err != nil || len(refused) == 0 {
		return err
	}

	fmt.Fprintf(out, "warning: machines of this release refuse configurations for %s because of %s; for them, generate with --talos-version %s\n",
		contract, strings.Join(refused, ", "), generate.Accepted())

	return nil
}
