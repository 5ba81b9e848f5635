// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/sys/filetree"
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

// fileError gives an error of a file operation the code that says its cause.
func fileError(operation string, err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}

	code := codes.Internal

	switch {
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, filetree.ErrNoAnswer):
		code = codes.DeadlineExceeded
	case errors.Is(err, filetree.ErrBusy):
		code = codes.ResourceExhausted
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		code = codes.NotFound
	case errors.Is(err, fs.ErrPermission):
		code = codes.PermissionDenied
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENAMETOOLONG), errors.Is(err, filetree.ErrNotRegular):
		code = codes.InvalidArgument
	}

	return status.Errorf(code, "%s: %s", operation, validText(err.Error()))
}
