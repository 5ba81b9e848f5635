// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func (s *sockets) columns() []session.Column[*machine.ConnectRecord] {
	type record = *machine.ConnectRecord

	columns := []session.Column[record]{
		session.Col("PROTO", record.GetL4Proto),
		session.Col("RECV-Q", func(r record) string { return strconv.FormatUint(r.GetRxqueue(), 10) }),
		session.Col("SEND-Q", func(r record) string { return strconv.FormatUint(r.GetTxqueue(), 10) }),
		session.Col("LOCAL ADDRESS", func(r record) string { return socketAddress(r.GetLocalip(), r.GetLocalport()) }),
		session.Col("FOREIGN ADDRESS", func(r record) string { return socketAddress(r.GetRemoteip(), r.GetRemoteport()) }),
		session.Col("STATE", socketState),
	}

	if s.extend {
		columns = append(columns,
			session.Col("USER", func(r record) string { return strconv.FormatUint(uint64(r.GetUid()), 10) }),
			session.Col("INODE", func(r record) string { return strconv.FormatUint(r.GetInode(), 10) }),
		)
	}

	if s.programs {
		columns = append(columns, session.Col("PID/PROGRAM NAME", func(r record) string {
			if r.GetProcess().GetPid() == 0 {
				return "-"
			}

			return fmt.Sprintf("%d/%s", r.GetProcess().GetPid(), r.GetProcess().GetName())
		}))
	}

	if s.pods || s.pod != "" {
		columns = append(columns, session.Col("POD", func(r record) string { return cmp.Or(r.GetNetns(), "-") }))
	}

	if s.timers {
		columns = append(columns, session.Col("TIMER", func(r record) string {
			return fmt.Sprintf("%s (%.2f/%d/%d)", strings.ToLower(r.GetTr().String()), float64(r.GetTimerwhen())/100, r.GetRetrnsmt(), r.GetTimeout())
		}))
	}

	return columns
}

func socketAddress(host string, port uint32) string {
	if port == 0 {
		return net.JoinHostPort(host, "*")
	}

	return net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10))
}

// socketState returns the state of a socket. A socket of a transport without connections has a state only when it is connected.
func socketState(r *machine.ConnectRecord) string {
	switch r.GetState() {
	case machine.ConnectRecord_RESERVED:
		return ""
	case machine.ConnectRecord_CLOSE:
		if r.GetL4Proto() != "tcp" && r.GetL4Proto() != "tcp6" {
			return ""
		}
	}

	return r.GetState().String()
}
