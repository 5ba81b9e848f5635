// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/controllers/config"
	"github.com/seed-59268b81/talos/controllers/etcd"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/install/upgrade"
	"github.com/seed-59268b81/talos/machine/events"
	"github.com/seed-59268b81/talos/machine/installation"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/filetree"
	"github.com/seed-59268b81/talos/sys/pcap"
)

// causes map errors to the code that callers get. The first match counts.
type causes []struct {
	code codes.Code
	errs []error
}

// knownCauses are the errors of the packages that carry calls out.
var knownCauses = causes{
	{codes.Canceled, []error{context.Canceled}},
	{codes.DeadlineExceeded, []error{context.DeadlineExceeded}},
	{codes.NotFound, []error{bootlog.ErrNoBoot, container.ErrNoContainer, container.ErrNoImage, supervisor.ErrUnknown}},
	{codes.AlreadyExists, []error{etcd.ErrHasData, etcd.ErrAlreadyAsked, etcd.ErrClusterExists}},
	{codes.PermissionDenied, []error{config.ErrDenied}},
	{codes.Aborted, []error{config.ErrChanged, etcd.ErrUploading, installation.ErrBusy}},
	{codes.ResourceExhausted, []error{errTooManySockets, events.ErrOverrun, fat.ErrNoSpace}},
	{codes.DataLoss, []error{release.ErrIncomplete}},
	{codes.InvalidArgument, []error{
		config.ErrInvalid, release.ErrNotOurs, container.ErrArchive, container.ErrReference, container.ErrSandbox, etcd.ErrEmptySnapshot, pcap.ErrInvalid,
	}},
	{codes.FailedPrecondition, []error{
		bootlog.ErrClosed, config.ErrNotReady, config.ErrTrial, container.ErrNotRunning, container.ErrRefused, disk.ErrInUse, metactl.ErrNotLoaded, supervisor.ErrNotAllowed,
		etcd.ErrDiskNotReady, etcd.ErrNoCertificates, etcd.ErrNoSnapshot, etcd.ErrNotConfigured, etcd.ErrNotControlPlane, etcd.ErrTimeNotSynced,
		install.ErrNoDisk, installation.ErrBIOS, installation.ErrInstalled, installation.ErrNoRelease, install.ErrNotEmpty, install.ErrTooSmall, release.ErrArch, release.ErrTooNew, upgrade.ErrNoPrevious, upgrade.ErrNotDefault, upgrade.ErrUnknownEntry, loader.ErrNoKernel, loader.ErrNoSystem,
	}},
}

// fileCauses are further errors of operations on files.
var fileCauses = causes{
	{codes.DeadlineExceeded, []error{filetree.ErrNoAnswer}},
	{codes.ResourceExhausted, []error{filetree.ErrBusy}},
	{codes.NotFound, []error{fs.ErrNotExist, unix.ENOTDIR}},
	{codes.PermissionDenied, []error{fs.ErrPermission}},
	{codes.InvalidArgument, []error{unix.ELOOP, unix.ENAMETOOLONG, filetree.ErrNotRegular}},
}

// code returns the code of an error, and whether the error is listed.
func (c causes) code(err error) (codes.Code, bool) {
	for _, cause := range c {
		if slices.ContainsFunc(cause.errs, func(target error) bool { return errors.Is(err, target) }) {
			return cause.code, true
		}
	}

	return codes.Internal, false
}

// failed returns the error of an operation, with the code of its cause.
func failed(operation string, err error) error {
	code, known := knownCauses.code(err)
	if !known && errors.Is(err, unix.ENOSPC) {
		code = codes.ResourceExhausted
	}

	return status.Errorf(code, "%s: %v", operation, err)
}

// refused is failed without the operation for errors that are listed, whose text is complete.
func refused(operation string, err error) error {
	if code, ok := knownCauses.code(err); ok {
		return status.Error(code, err.Error())
	}

	return failed(operation, err)
}

// containerdError is failed for operations of containerd, whose own errors have a kind that maps to a code.
func containerdError(operation string, err error) error {
	code, known := knownCauses.code(err)
	if !known {
		code = status.Code(errgrpc.ToGRPC(err))
	}

	switch code {
	case codes.Unknown:
		return failed(operation, err)
	case codes.Unavailable:
		return status.Errorf(code, "%s: containerd does not answer: %v; see: talosctl service cri", operation, err)
	default:
		return status.Errorf(code, "%s: %v", operation, err)
	}
}

// registryError is failed for operations that read an image from a registry, whose errors have the kinds of containerd's.
func registryError(operation string, err error) error {
	code, known := knownCauses.code(err)
	if !known {
		code = status.Code(errgrpc.ToGRPC(err))
	}

	if code == codes.Unknown {
		return fileError(operation, err)
	}

	return status.Errorf(code, "%s: %v", operation, err)
}

// fileError is failed for operations on files. An error that already has a code is returned as it is.
func fileError(operation string, err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}

	code, ok := knownCauses.code(err)
	if !ok {
		code, _ = fileCauses.code(err)
	}

	return status.Errorf(code, "%s: %s", operation, validText(err.Error()))
}
