// SPDX-License-Identifier: Apache-2.0

package etcdcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newEtcdMembersCommand(s *session.Session) *cobra.Command {
	var local bool

	cmd := session.ListCommand(s, &cobra.Command{
		Use:   "members",
		Short: "List the members of etcd",
	}, memberColumns, func(n session.Node, ctx context.Context) ([]*machine.EtcdMember, error) {
		return n.EtcdMembers(ctx, local)
	})

	cmd.Flags().BoolVar(&local, "local", false, "list the members as the node's own member knows them, without a quorum")

	return cmd
}

var memberColumns = []session.Column[*machine.EtcdMember]{
	session.Col("ID", func(m *machine.EtcdMember) string { return client.FormatEtcdID(m.GetId()) }),
	session.Col("HOSTNAME", (*machine.EtcdMember).GetHostname),
	session.Col("PEER URLS", func(m *machine.EtcdMember) string { return strings.Join(m.GetPeerUrls(), ",") }),
	session.Col("CLIENT URLS", func(m *machine.EtcdMember) string { return strings.Join(m.GetClientUrls(), ",") }),
	session.Col("LEARNER", func(m *machine.EtcdMember) string { return strconv.FormatBool(m.GetIsLearner()) }),
}

// newEtcdRemoveMemberCommand returns a command that has two names.
func newEtcdRemoveMemberCommand(s *session.Session, name string) *cobra.Command {
	return s.Flags(&cobra.Command{
		Use:   name + " MEMBER-ID",
		Short: "Remove the member of a lost node from etcd",
		Long: `Remove a member from etcd, by its id or, if only one has it, by its hostname.

This is for members whose node is lost. Run it on another node. A running node leaves etcd with talosctl etcd leave; one that runs when
its member is removed joins again, with empty data.

It is refused when the members that remain would not be a quorum.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				id, err := etcdMemberID(ctx, n, args[0])
				if err != nil {
					return err
				}

				return n.EtcdRemoveMember(ctx, id)
			})
		},
		ValidArgsFunction: s.CompleteArg(0, func(n session.Node, ctx context.Context) ([]string, error) {
			members, err := n.EtcdMembers(ctx, false)

			return session.Names(members, func(m *machine.EtcdMember) string {
				return cobra.CompletionWithDesc(client.FormatEtcdID(m.GetId()), m.GetHostname())
			}), err
		}),
	})
}

// etcdMemberID finds a member by hostname, or else parses the text as an id in hex. A hostname may be hex too, so it is tried first.
func etcdMemberID(ctx context.Context, n session.Node, text string) (uint64, error) {
	members, err := n.EtcdMembers(ctx, false)
	if err != nil {
		return 0, err
	}

	members = slices.DeleteFunc(members, func(m *machine.EtcdMember) bool { return m.GetHostname() != text })

	switch len(members) {
	case 1:
		return members[0].GetId(), nil
	case 0:
	default:
		return 0, errors.New("several members have the hostname " + text + ": name one by its id; list them with: talosctl etcd members")
	}

	id, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is neither an id in hex nor the hostname of a member; list them with: talosctl etcd members", text)
	}

	return id, nil
}

// Files returns the files of this package in a support bundle.
func Files(context.Context, session.Node) ([]session.BundleFile, error) {
	return []session.BundleFile{
		session.TableFile("etcd-members.txt", memberColumns, func(n session.Node, ctx context.Context) ([]*machine.EtcdMember, error) {
			return n.EtcdMembers(ctx, false)
		}),
		session.TableFile("etcd-status.txt", etcdStatusColumns, session.Single(session.Node.EtcdStatus)),
	}, nil
}
