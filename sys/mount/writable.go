// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Writable makes a folder of a read-only file system writable: it mounts an overlay over the folder, whose changes are kept in layers-diff and
// layers-workdir. A folder that is writable stays as it is.
func Writable(dir, layers string) error {
	err := unix.Access(dir, unix.W_OK)
	if err == nil {
		return nil
	}

	if !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("make %s writable: %w", dir, err)
	}

	changed, work := layers+"-diff", layers+"-workdir"

	for _, path := range []string{changed, work} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("make %s writable: %w", dir, err)
		}
	}

	// The next image has other files below the same changes, which an index would refuse.
	return Point{
		Source: "overlay", Target: dir, FSType: "overlay", Flags: NoSuid | NoDev,
		Data: "lowerdir=" + dir + ",upperdir=" + changed + ",workdir=" + work + ",index=off",
	}.Mount()
}
