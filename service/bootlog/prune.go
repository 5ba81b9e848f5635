// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"errors"
	"os"
)

// prune removes what exceeds the limits, the oldest first: segments of the current boot, and earlier boots.
func prune(dir, current string, limits Limits) error {
	var errs []error

	paths, err := segments(current)
	if err != nil {
		return err
	}

	for size := sizeOf(current); size > limits.Boot && len(paths) > 1; paths = paths[1:] {
		if info, err := os.Stat(paths[0]); err == nil {
			size -= info.Size()
		}

		errs = append(errs, os.Remove(paths[0]))
	}

	boots, err := folders(dir)
	if err != nil {
		return err
	}

	var total int64
	for _, folder := range boots {
		total += sizeOf(folder)
	}

	for count := len(boots); count > 1 && boots[0] != current && (count > limits.Boots || total > limits.Total); count-- {
		total -= sizeOf(boots[0])
		errs = append(errs, os.RemoveAll(boots[0]))
		boots = boots[1:]
	}

	return errors.Join(errs...)
}
