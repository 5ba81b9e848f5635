// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filetree

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// maxXattr is the kernel's limit for the list of names and for a value, in bytes.
const maxXattr = 64 << 10

// Xattr is an extended attribute.
type Xattr struct {
	Name  string
	Value []byte
}

// Xattrs returns the extended attributes of a file, or of a symbolic link itself. A file system without them has none.
func Xattrs(path string) ([]Xattr, error) {
	buf := make([]byte, maxXattr)

	n, err := unix.Llistxattr(path, buf)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("extended attributes: %w", err)
	}

	var out []Xattr

	for name := range strings.SplitSeq(strings.TrimRight(string(buf[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}

		value := make([]byte, maxXattr)

		n, err := unix.Lgetxattr(path, name, value)
		if errors.Is(err, unix.ENODATA) {
			continue // removed since
		}

		if err != nil {
			return nil, fmt.Errorf("extended attribute %s: %w", name, err)
		}

		out = append(out, Xattr{Name: name, Value: append([]byte(nil), value[:n]...)})
	}

	return out, nil
}
