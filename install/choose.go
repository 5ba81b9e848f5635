// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Choose returns the disk that a selector matches. Of several it is the first by name, of those to which the system can be installed. The
// error has the reason for each disk.
func Choose(disks []Disk, r Request, matches func(Disk) (bool, error)) (Disk, *Plan, error) {
	var reasons []string

	sorted := slices.SortedFunc(slices.Values(disks), func(a, b Disk) int { return cmp.Compare(a.Name, b.Name) })

	for _, d := range sorted {
		match, err := matches(d)

		switch {
		case err != nil:
			reasons = append(reasons, fmt.Sprintf("%s: the selector cannot be evaluated: %v", d.Name, err))

			continue
		case !match:
			reasons = append(reasons, d.Name+": the selector does not match")

			continue
		}

		plan, err := For(d, r)
		if err == nil {
			return d, plan, nil
		}

		reasons = append(reasons, strings.TrimPrefix(err.Error(), "install to "))
	}

	if len(disks) == 0 {
		reasons = []string{"the machine has no disks"}
	}

	return Disk{}, nil, fmt.Errorf("choose a disk: %s", strings.Join(reasons, "; "))
}
