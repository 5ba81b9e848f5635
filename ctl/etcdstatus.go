// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
)

func newEtcdStatusCommand(s *Session) *cobra.Command {
	return ListCommand(s, &cobra.Command{
		Use:   "status",
		Short: "Show the status of the nodes' etcd members",
	}, etcdStatusColumns, Single(Node.EtcdStatus))
}

var etcdStatusColumns = []Column[*machine.EtcdMemberStatus]{
	Col("MEMBER", func(s *machine.EtcdMemberStatus) string { return client.FormatEtcdID(s.GetMemberId()) }),
	Col("DB SIZE", func(s *machine.EtcdMemberStatus) string { return humanize.Bytes(uint64(max(0, s.GetDbSize()))) }),
	Col("IN USE", func(s *machine.EtcdMemberStatus) string {
		used := uint64(max(0, s.GetDbSizeInUse()))

		return fmt.Sprintf("%s (%s)", humanize.Bytes(used), Share(used, uint64(max(0, s.GetDbSize()))))
	}),
	Col("LEADER", func(s *machine.EtcdMemberStatus) string { return client.FormatEtcdID(s.GetLeader()) }),
	Col("RAFT INDEX", func(s *machine.EtcdMemberStatus) string { return strconv.FormatUint(s.GetRaftIndex(), 10) }),
	Col("RAFT TERM", func(s *machine.EtcdMemberStatus) string { return strconv.FormatUint(s.GetRaftTerm(), 10) }),
	Col("RAFT APPLIED INDEX", func(s *machine.EtcdMemberStatus) string { return strconv.FormatUint(s.GetRaftAppliedIndex(), 10) }),
	Col("LEARNER", func(s *machine.EtcdMemberStatus) string { return strconv.FormatBool(s.GetIsLearner()) }),
	Col("PROTOCOL", (*machine.EtcdMemberStatus).GetProtocolVersion),
	Col("STORAGE", (*machine.EtcdMemberStatus).GetStorageVersion),
	Col("ERRORS", func(s *machine.EtcdMemberStatus) string { return strings.Join(s.GetErrors(), ", ") }),
}

func newEtcdAlarmCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alarm",
		Short: "List or clear the alarms of etcd",
	}

	cmd.AddCommand(
		ListCommand(s, &cobra.Command{Use: "list", Short: "List the alarms of etcd"}, etcdAlarmColumns, Node.EtcdAlarms),
		ListCommand(s, &cobra.Command{
			Use:   "disarm",
			Short: "Clear the alarms of etcd, and list them",
			Long:  "Clear the alarms of etcd, and list those that were cleared. Remove their cause first: an alarm whose cause is there comes back.",
		}, etcdAlarmColumns, Node.EtcdDisarmAlarms),
	)

	return cmd
}

var etcdAlarmColumns = []Column[*machine.EtcdMemberAlarm]{
	Col("MEMBER", func(a *machine.EtcdMemberAlarm) string { return client.FormatEtcdID(a.GetMemberId()) }),
	Col("ALARM", func(a *machine.EtcdMemberAlarm) string { return a.GetAlarm().String() }),
}
