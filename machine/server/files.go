// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// absolute checks a path that a caller gives. What it may show is for the roles to say: the calls that show contents are
// for administrators, who own the machine.
func absolute(operation, path string) error {
	switch {
	case !filepath.IsAbs(path):
		return status.Errorf(codes.InvalidArgument, "%s %q: the path must be absolute, that is, start with a slash", operation, path)
	case strings.ContainsRune(path, 0):
		return status.Errorf(codes.InvalidArgument, "%s %q: a path has no NUL", operation, path)
	case len(path) >= unix.PathMax:
		return status.Errorf(codes.InvalidArgument, "%s: the path has %d bytes, the limit is %d", operation, len(path), unix.PathMax-1)
	default:
		return nil
	}
}
