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

func newEtcdStatusCommand(s *connection) *cobra.Command {
	return listCommand(s, &cobra.Command{
		Use:   "status",
		Short: "Show the status of the nodes' etcd members",
	}, etcdStatusColumns, single(node.EtcdStatus))
}

var etcdStatusColumns = []column[*machine.EtcdMemberStatus]{
	{"MEMBER", func(s *machine.EtcdMemberStatus) string { return client.FormatEtcdID(s.GetMemberId()) }},
	{"DB SIZE", func(s *machine.EtcdMemberStatus) string { return humanize.Bytes(uint64(max(0, s.GetDbSize()))) }},
	{"IN USE", func(s *machine.EtcdMemberStatus) string {
		used := uint64(max(0, s.GetDbSizeInUse()))

		return fmt.Sprintf("%s (%s)", humanize.Bytes(used), share(used, uint64(max(0, s.GetDbSize()))))
	}},
	{"LEADER", func(s *machine.EtcdMemberStatus) string { return client.FormatEtcdID(s.GetLeader()) }},
	{"RAFT INDEX", func(s *machine.EtcdMemberStatus) string { return strconv.FormatUint(s.GetRaftIndex(), 10) }},
	{"RAFT TERM", func(s *machine.EtcdMemberStatus) string { return strconv.FormatUint(s.GetRaftTerm(), 10) }},
	{"RAFT APPLIED INDEX", func(s *machine.EtcdMemberStatus) string { return strconv.FormatUint(s.GetRaftAppliedIndex(), 10) }},
	{"LEARNER", func(s *machine.EtcdMemberStatus) string { return strconv.FormatBool(s.GetIsLearner()) }},
	{"PROTOCOL", (*machine.EtcdMemberStatus).GetProtocolVersion},
	{"STORAGE", (*machine.EtcdMemberStatus).GetStorageVersion},
	{"ERRORS", func(s *machine.EtcdMemberStatus) string { return strings.Join(s.GetErrors(), ", ") }},
}

func newEtcdAlarmCommand(s *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alarm",
		Short: "List or clear the alarms of etcd",
	}

	cmd.AddCommand(
		listCommand(s, &cobra.Command{Use: "list", Short: "List the alarms of etcd"}, etcdAlarmColumns, node.EtcdAlarms),
		listCommand(s, &cobra.Command{
			Use:   "disarm",
			Short: "Clear the alarms of etcd, and list them",
			Long:  "Clear the alarms of etcd, and list those that were cleared. Remove their cause first: an alarm whose cause is there comes back.",
		}, etcdAlarmColumns, node.EtcdDisarmAlarms),
	)

	return cmd
}

var etcdAlarmColumns = []column[*machine.EtcdMemberAlarm]{
	{"MEMBER", func(a *machine.EtcdMemberAlarm) string { return client.FormatEtcdID(a.GetMemberId()) }},
	{"ALARM", func(a *machine.EtcdMemberAlarm) string { return a.GetAlarm().String() }},
}
