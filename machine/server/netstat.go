// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/netns"
	"github.com/seed-59268b81/talos/sys/netstat"
)

// maxNetstat is the largest answer, in bytes, a little less than a message may have.
const maxNetstat = contract.MaxMessage - 1<<20

var errTooManySockets = errors.New("too many sockets for one answer; request fewer protocols or network namespaces, or only listening sockets")

// Netstat implements machine.MachineService. Without a protocol it lists all, without a network namespace the host's.
// A namespace that is removed while it is read has no sockets.
func (s *Server) Netstat(ctx context.Context, req *machine.NetstatRequest) (*machine.NetstatResponse, error) {
	spaces, err := s.spaces(req.GetNetns())
	if err != nil {
		return nil, err
	}

	n := &netstats{ctx: ctx, req: req, reply: &machine.Netstat{}}

	if req.GetFeature().GetPid() {
		if n.owners, err = netstat.Owners(ctx, s.path("proc")); err != nil {
			return nil, fileError("netstat: owners of sockets", err)
		}
	}

	for _, space := range spaces {
		what := "netstat"
		if space.name != "" {
			what += " of network namespace " + space.name
		}

		if err := n.read(space, s.path("proc/thread-self/net")); err != nil {
			return nil, fileError(what, err)
		}
	}

	return &machine.NetstatResponse{Messages: []*machine.Netstat{n.reply}}, nil
}

// space is a network namespace. The host's has neither a name nor a path.
type space struct {
	name, path string
	// required means that the request names it.
	required bool
}

func (s *Server) spaces(req *machine.NetstatRequest_NetNS) ([]space, error) {
	var folders []string
	for _, f := range netns.Folders {
		folders = append(folders, s.path(f))
	}

	names := req.GetNetns()

	if req.GetAllnetns() {
		all, err := netns.Names(folders...)
		if err != nil {
			return nil, fileError("netstat", err)
		}

		names = all
	}

	var spaces []space
	if req.GetHostnetwork() || req.GetAllnetns() || len(names) == 0 {
		spaces = append(spaces, space{})
	}

	for _, name := range names {
		path, err := netns.Find(name, folders...)

		switch {
		case err == nil:
			spaces = append(spaces, space{name: name, path: path, required: !req.GetAllnetns()})
		case errors.Is(err, fs.ErrInvalid):
			return nil, status.Errorf(codes.InvalidArgument, "netstat: %v", err)
		case !req.GetAllnetns():
			return nil, status.Errorf(codes.NotFound, "netstat: %v; the list of containers has those of pods", err)
		}
	}

	return spaces, nil
}

// netstats builds an answer.
type netstats struct {
	ctx    context.Context // the call's
	req    *machine.NetstatRequest
	owners map[uint64]netstat.Process
	reply  *machine.Netstat
	size   int
}

func (n *netstats) read(sp space, net string) error {
	tables := func() error {
		for _, protocol := range protocols(n.req.GetL4Proto()) {
			err := netstat.ReadFile(os.DirFS(net), protocol, func(socket netstat.Socket) error { return n.add(sp, protocol, socket) })
			if err != nil {
				return err
			}
		}

		return nil
	}

	if sp.path == "" {
		return tables()
	}

	err := netns.Do(sp.path, tables)
	if !sp.required && errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	return err
}

func protocols(p *machine.NetstatRequest_L4Proto) []string {
	requested := map[string]bool{
		"tcp": p.GetTcp(), "tcp6": p.GetTcp6(), "udp": p.GetUdp(), "udp6": p.GetUdp6(), "udplite": p.GetUdplite(),
		"udplite6": p.GetUdplite6(), "raw": p.GetRaw(), "raw6": p.GetRaw6(),
	}

	var out []string

	for _, protocol := range netstat.Protocols {
		if requested[protocol] {
			out = append(out, protocol)
		}
	}

	if len(out) == 0 {
		return netstat.Protocols
	}

	return out
}

func (n *netstats) add(sp space, protocol string, s netstat.Socket) error {
	listens := s.State == netstat.Listen || !s.HasPeer() && protocol[0] != 't'

	filter := n.req.GetFilter()
	if filter == machine.NetstatRequest_CONNECTED && !s.HasPeer() || filter == machine.NetstatRequest_LISTENING && !listens {
		return nil
	}

	if n.ctx.Err() != nil {
		return n.ctx.Err()
	}

	record := &machine.ConnectRecord{
		L4Proto: protocol,
		Localip: s.Local.Addr().String(), Localport: uint32(s.Local.Port()),
		Remoteip: s.Remote.Addr().String(), Remoteport: uint32(s.Remote.Port()),
		State:   machine.ConnectRecord_State(s.State),
		Txqueue: uint64(s.TxQueue), Rxqueue: uint64(s.RxQueue),
		Tr: machine.ConnectRecord_TimerActive(s.Timer), Timerwhen: s.TimerWhen, Retrnsmt: s.Retransmits,
		Uid: s.UID, Timeout: s.Timeout, Inode: s.Inode, Ref: s.References, Pointer: s.Pointer, Netns: sp.name,
	}

	if owner, ok := n.owners[s.Inode]; ok && s.Inode != 0 {
		record.Process = &machine.ConnectRecord_Process{Pid: owner.PID, Name: validText(owner.Name)}
	}

	// 6 bytes are for tag and length.
	if n.size += proto.Size(record) + 6; n.size > maxNetstat {
		return fmt.Errorf("%w (%d so far)", errTooManySockets, len(n.reply.GetConnectrecord()))
	}

	n.reply.Connectrecord = append(n.reply.Connectrecord, record)

	return nil
}
