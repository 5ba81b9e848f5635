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

// absolute checks the path of a request. Which files a caller may read is up to the roles: calls that return contents are for
// administrators.
func absolute(operation, path string) error {
	switch {
	case !filepath.IsAbs(path):
		return status.Errorf(codes.InvalidArgument, "%s %q: the path must be absolute: it must start with a slash", operation, path)
	case strings.ContainsRune(path, 0):
		return status.Errorf(codes.InvalidArgument, "%s %q: the path contains a zero byte", operation, path)
	case len(path) >= unix.PathMax:
		return status.Errorf(codes.InvalidArgument, "%s: the path has %d bytes, the limit is %d", operation, len(path), unix.PathMax-1)
	default:
		return nil
	}
}
