// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"cmp"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/filetree"
)

// List implements machine.MachineService. Without recurse it lists a folder and its entries; with recurse also what is below
// them, down to the depth, where zero means unlimited. A file that cannot be read has an error in its message.
func (s *Server) List(req *machine.ListRequest, stream grpc.ServerStreamingServer[machine.FileInfo]) error {
	root := cmp.Or(req.GetRoot(), "/")
	if err := absolute("list", root); err != nil {
		return err
	}

	depth := 1
	if req.GetRecurse() {
		depth = cmp.Or(int(req.GetRecursionDepth()), filetree.Unlimited)
	}

	err := filetree.Walk(stream.Context(), s.path(root), depth, func(e filetree.Entry) error {
		if e.Info != nil && !wanted(req.GetTypes(), e.Info.Mode()) {
			return nil
		}

		return stream.Send(fileInfo(e, req.GetReportXattrs()))
	})
	if err != nil {
		return fileError("list "+root, err)
	}

	return nil
}

func wanted(types []machine.ListRequest_Type, mode fs.FileMode) bool {
	if len(types) == 0 {
		return true
	}

	return mode.IsRegular() && slices.Contains(types, machine.ListRequest_REGULAR) ||
		mode.IsDir() && slices.Contains(types, machine.ListRequest_DIRECTORY) ||
		mode&fs.ModeSymlink != 0 && slices.Contains(types, machine.ListRequest_SYMLINK)
}

func fileInfo(e filetree.Entry, xattrs bool) *machine.FileInfo {
	f := &machine.FileInfo{Name: validText(e.Path), RelativeName: validText(e.Relative)}

	if e.Err != nil {
		f.Error = validText(e.Err.Error())

		return f
	}

	f.Size, f.Mode, f.Modified, f.IsDir = e.Info.Size(), uint32(e.Info.Mode()), e.Info.ModTime().Unix(), e.Info.IsDir()

	if st, ok := e.Info.Sys().(*syscall.Stat_t); ok {
		f.Uid, f.Gid = st.Uid, st.Gid
	}

	if e.Info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(e.Path)
		if err != nil {
			f.Error = validText(err.Error())
		}

		f.Link = validText(target)
	}

	if xattrs {
		attrs, err := filetree.Xattrs(e.Path)
		if err != nil {
			f.Error = validText(err.Error())
		}

		for _, a := range attrs {
			f.Xattrs = append(f.Xattrs, &machine.Xattr{Name: validText(a.Name), Data: a.Value})
		}
	}

	return f
}
