// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

// fileTypes are the values of --type.
var fileTypes = map[string]machine.ListRequest_Type{
	"f": machine.ListRequest_REGULAR,
	"d": machine.ListRequest_DIRECTORY,
	"l": machine.ListRequest_SYMLINK, "L": machine.ListRequest_SYMLINK,
}

func newListCommand(s *session.Session) *cobra.Command {
	var (
		request     machine.ListRequest
		long, human bool
		types       []string
	)

	cmd := s.OutputFlag(s.Flags(&cobra.Command{
		Use:     "list [PATH]",
		Aliases: []string{"ls"},
		Short:   "List files",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Root = "/"
			if len(args) == 1 {
				request.Root = args[0]
			}

			if request.RecursionDepth > 0 {
				request.Recurse = true
			}

			for _, name := range types {
				typ, known := fileTypes[name]
				if !known {
					return session.UsageError(cmd, "--type %q is unknown: want f (regular file), d (directory) or l (symbolic link)", name)
				}

				request.Types = append(request.Types, typ)
			}

			columns := []session.Column[*machine.FileInfo]{session.Col("NAME", (*machine.FileInfo).GetRelativeName)}
			if long || human {
				columns, request.ReportXattrs = longColumns(human), true
			}

			// Large batches keep the files of a node together.
			return printFiles(s, cmd, columns, 1000, nil, func(ctx context.Context, n session.Node) iter.Seq2[*machine.FileInfo, error] {
				return n.List(ctx, &request)
			})
		},
		ValidArgsFunction: completePath(s),
	}))

	cmd.Flags().Int32VarP(&request.RecursionDepth, "depth", "d", 0, "descend into directories this many levels deep")
	cmd.Flags().BoolVarP(&request.Recurse, "recurse", "r", false, "descend into directories")
	cmd.Flags().BoolVarP(&long, "long", "l", false, "also show mode, owner, size, time and SELinux label")
	cmd.Flags().BoolVarP(&human, "humanize", "H", false, "like --long, with sizes and times for people")
	cmd.Flags().StringSliceVarP(&types, "type", "t", nil, "list these types only: f (regular file), d (directory), l (symbolic link)")
	session.Complete(cmd, "type", "f", "d", "l")

	return cmd
}

// printFiles prints the files that each node streams, a batch at a time.
func printFiles[F interface {
	GetName() string
	GetError() string
}](
	s *session.Session, cmd *cobra.Command, columns []session.Column[F], batch int, widths []int,
	stream func(ctx context.Context, n session.Node) iter.Seq2[F, error],
) error {
	out, err := session.NewListing(s, cmd, columns)
	if err != nil {
		return err
	}

	out.Table.Reserve(widths...)

	return s.Tabulate(cmd, out.Table, func(ctx context.Context, n session.Node) error {
		var (
			files    []F
			problems fileProblems
		)

		for file, err := range stream(ctx, n) {
			switch {
			case err != nil:
				return cmp.Or(out.Print(n.Name, files...), err)
			case file.GetError() != "":
				problems = append(problems, file.GetName()+": "+file.GetError())
			default:
				files = append(files, file)
			}

			if len(files) == batch {
				if err := out.Print(n.Name, files...); err != nil {
					return err
				}

				files = nil
			}
		}

		return cmp.Or(out.Print(n.Name, files...), problems.err())
	})
}

func longColumns(human bool) []session.Column[*machine.FileInfo] {
	type file = *machine.FileInfo

	name, modified := "SIZE(B)", func(f file) string { return time.Unix(f.GetModified(), 0).UTC().Format("Jan _2 2006 15:04:05") }
	if human {
		name, modified = "SIZE", func(f file) string { return session.Ago(time.Unix(f.GetModified(), 0), time.Now()) }
	}

	return []session.Column[file]{
		session.Col("MODE", func(f file) string { return fs.FileMode(f.GetMode()).String() }),
		session.Col("UID", func(f file) string { return strconv.FormatUint(uint64(f.GetUid()), 10) }),
		session.Col("GID", func(f file) string { return strconv.FormatUint(uint64(f.GetGid()), 10) }),
		session.Col(name, func(f file) string { return session.Size(f.GetSize(), human) }),
		session.Col("LASTMOD", modified),
		session.Col("LABEL", seLinuxLabel),
		session.Col("NAME", func(f file) string {
			if f.GetLink() != "" {
				return f.GetRelativeName() + " -> " + f.GetLink()
			}

			return f.GetRelativeName()
		}),
	}
}

func seLinuxLabel(f *machine.FileInfo) string {
	for _, xattr := range f.GetXattrs() {
		if data := xattr.GetData(); xattr.GetName() == "security.selinux" && len(data) > 0 {
			return string(bytes.TrimSuffix(data, []byte{0}))
		}
	}

	return ""
}

// fileProblems are the files that a node could not read, with the causes.
type fileProblems []string

func (p fileProblems) err() error {
	switch len(p) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("the node could not look at %s", p[0])
	default:
		return fmt.Errorf("the node could not look at %s, and at %d more", p[0], len(p)-1)
	}
}
