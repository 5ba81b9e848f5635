// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/capture"
	"github.com/seed-59268b81/talos/ctl/cgroups"
	"github.com/seed-59268b81/talos/ctl/configcmd"
	"github.com/seed-59268b81/talos/ctl/configure"
	"github.com/seed-59268b81/talos/ctl/dashboard"
	"github.com/seed-59268b81/talos/ctl/etcdcmd"
	"github.com/seed-59268b81/talos/ctl/explain"
	"github.com/seed-59268b81/talos/ctl/filesystem"
	"github.com/seed-59268b81/talos/ctl/gen"
	"github.com/seed-59268b81/talos/ctl/get"
	"github.com/seed-59268b81/talos/ctl/imagecmd"
	"github.com/seed-59268b81/talos/ctl/inject"
	"github.com/seed-59268b81/talos/ctl/kubecmd"
	"github.com/seed-59268b81/talos/ctl/lifecycle"
	"github.com/seed-59268b81/talos/ctl/logs"
	"github.com/seed-59268b81/talos/ctl/observe"
	"github.com/seed-59268b81/talos/ctl/rotateca"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/ctl/support"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 130
)

// group is a group of commands in the help.
type group struct {
	title    string
	commands []*cobra.Command
}

// groups returns the commands as the help lists them, by purpose.
func groups(s *session.Session, local []*cobra.Command) []group {
	return []group{
		{"Observe the nodes", slices.Concat(
			filesystem.Commands(s), get.Commands(s), logs.Commands(s), observe.Commands(s),
			[]*cobra.Command{
				capture.Command(s), cgroups.Command(s), dashboard.Command(s), explain.Command(s),
				// get.Files is first: it finds out whether the node answers at all.
				support.Command(s, get.Files, observe.Files, filesystem.Files, logs.Files, etcdcmd.Files),
			},
		)},
		{"Configure the nodes", configure.Commands(s)},
		{"Start, restart and stop the nodes", lifecycle.Commands(s)},
		{"etcd, Kubernetes and images", []*cobra.Command{etcdcmd.Command(s), imagecmd.Command(s), imagecmd.DebugCommand(s), kubecmd.Command(s), rotateca.Command(s)}},
		{withoutNode, slices.Concat(configcmd.Commands(s), gen.Commands(s), []*cobra.Command{inject.Command()}, local)},
	}
}

// withoutNode is the group of the commands that need no node.
const withoutNode = "Prepare, without a node"

// New returns the command talosctl, with further commands: the program adds cluster, which needs the lab.
func New(local ...*cobra.Command) *cobra.Command { return newRoot(&session.Session{}, local...) }

func newRoot(s *session.Session, local ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "talosctl",
		Short: "Drive and observe Talos machines through their API",
		// Run prints errors, once and with what to try next.
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}

	session.LeadingFlags(root)
	root.SetFlagErrorFunc(session.FlagError)
	root.SetCompletionCommandGroupID(withoutNode)

	for _, g := range groups(s, local) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		root.AddCommand(g.commands...)

		for _, cmd := range g.commands {
			cmd.GroupID = g.title
		}
	}

	return root
}

// Run runs the command, prints its errors to stderr and returns the exit status. The end of ctx interrupts the command: then only what it leaves
// half done is printed.
func Run(ctx context.Context, root *cobra.Command, stderr io.Writer) int {
	root.SetErr(stderr)

	err := root.ExecuteContext(ctx)

	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		session.PrintInterrupted(stderr, err)

		return exitInterrupted
	default:
		session.PrintError(stderr, err)

		return exitFailed
	}
}
