// SPDX-License-Identifier: Apache-2.0

package etcdcmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newEtcdStatusCommand(s *session.Session) *cobra.Command {
	return session.ListCommand(s, &cobra.Command{
		Use:   "status",
		Short: "Show the status of the nodes' etcd members",
	}, etcdStatusColumns, session.Single(session.Node.EtcdStatus))
}

var etcdStatusColumns = []session.Column[*machine.EtcdMemberStatus]{
	session.Col("MEMBER", func(s *machine.EtcdMemberStatus) string { return client.FormatEtcdID(s.GetMemberId()) }),
	session.Col("DB SIZE", func(s *machine.EtcdMemberStatus) string { return humanize.Bytes(uint64(max(0, s.GetDbSize()))) }),
	session.Col("IN USE", func(s *machine.EtcdMemberStatus) string {
		used := uint64(max(0, s.GetDbSizeInUse()))

		return fmt.Sprintf("%s (%s)", humanize.Bytes(used), session.Share(used, uint64(max(0, s.GetDbSize()))))
	}),
	session.Col("LEADER", func(s *machine.EtcdMemberStatus) string { return client.FormatEtcdID(s.GetLeader()) }),
	session.Col("RAFT INDEX", func(s *machine.EtcdMemberStatus) string { return strconv.FormatUint(s.GetRaftIndex(), 10) }),
	session.Col("RAFT TERM", func(s *machine.EtcdMemberStatus) string { return strconv.FormatUint(s.GetRaftTerm(), 10) }),
	session.Col("RAFT APPLIED INDEX", func(s *machine.EtcdMemberStatus) string { return strconv.FormatUint(s.GetRaftAppliedIndex(), 10) }),
	session.Col("LEARNER", func(s *machine.EtcdMemberStatus) string { return strconv.FormatBool(s.GetIsLearner()) }),
	session.Col("PROTOCOL", (*machine.EtcdMemberStatus).GetProtocolVersion),
	session.Col("STORAGE", (*machine.EtcdMemberStatus).GetStorageVersion),
	session.Col("ERRORS", func(s *machine.EtcdMemberStatus) string { return strings.Join(s.GetErrors(), ", ") }),
}

func newEtcdAlarmCommand(s *session.Session) *cobra.Command {
	return session.Group("alarm", "List or clear the alarms of etcd",
		session.ListCommand(s, &cobra.Command{Use: "list", Short: "List the alarms of etcd"}, etcdAlarmColumns, session.Node.EtcdAlarms),
		session.ListCommand(s, &cobra.Command{
			Use:   "disarm",
			Short: "Clear the alarms of etcd, and list them",
			Long:  "Clear the alarms of etcd, and list those that were cleared. Remove the cause first, or the alarm comes back.",
		}, etcdAlarmColumns, session.Node.EtcdDisarmAlarms),
	)
}

var etcdAlarmColumns = []session.Column[*machine.EtcdMemberAlarm]{
	session.Col("MEMBER", func(a *machine.EtcdMemberAlarm) string { return client.FormatEtcdID(a.GetMemberId()) }),
	session.Col("ALARM", func(a *machine.EtcdMemberAlarm) string { return a.GetAlarm().String() }),
}
