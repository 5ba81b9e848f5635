// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoDisk is the error when there is not one disk to install to.
var ErrNoDisk = errors.New("choose a disk")

// Choose returns the disk that a selector matches, and to which the system can be installed. Several are an error, because what is on a disk is
// lost. The error has the reason for each disk.
func Choose(disks []Disk, r Request, matches func(Disk) (bool, error)) (Disk, *Plan, error) {
	var (
		reasons []string
		chosen  []Disk
		plan    *Plan
	)

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

		planned, err := For(d, r)
		if err == nil {
			chosen, plan = append(chosen, d), planned

			continue
		}

		reasons = append(reasons, strings.TrimPrefix(err.Error(), "install to "))
	}

	switch len(chosen) {
	case 0:
	case 1:
		return chosen[0], plan, nil
	default:
		var names []string
		for _, d := range chosen {
			names = append(names, d.Name)
		}

		return Disk{}, nil, fmt.Errorf("%w: the selector matches %s: it must match one", ErrNoDisk, strings.Join(names, " and "))
	}

	if len(disks) == 0 {
		reasons = []string{"the machine has no disks"}
	}

	return Disk{}, nil, fmt.Errorf("%w: %s", ErrNoDisk, strings.Join(reasons, "; "))
}
