// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	timeapi "github.com/seed-59268b81/talos/api/time"
	"github.com/seed-59268b81/talos/resources/network"
)

// runTimeServer runs an NTP server whose clock is ahead.
func runTimeServer(t *testing.T, ahead time.Duration) string {
	t.Helper()

	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close() })

	go func() {
		for {
			packet := make([]byte, 48)

			_, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}

			reply := make([]byte, 48)
			reply[0], reply[1], reply[2] = 4<<3|4, 1, 6 // version 4, server, stratum 1
			copy(reply[24:32], packet[40:48])           // the time that the client sent

			for _, at := range []int{16, 32, 40} {
				now := time.Now().Add(ahead)
				binary.BigEndian.PutUint32(reply[at:], uint32(now.Unix()+2208988800))
				binary.BigEndian.PutUint32(reply[at+4:], uint32(uint64(now.Nanosecond())<<32/1e9))
			}

			conn.WriteTo(reply, from) // the client asks again, or not
		}
	}()

	return conn.LocalAddr().String()
}

func TestTime(t *testing.T) {
	b := newBench(t)
	client := timeapi.NewTimeServiceClient(b.conn)
	good := runTimeServer(t, time.Hour)

	check := func(what string, r *timeapi.TimeResponse, err error) {
		t.Helper()

		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}

		m := r.GetMessages()[0]
		if ahead := m.GetRemotetime().AsTime().Sub(m.GetLocaltime().AsTime()); m.GetServer() != good || (ahead-time.Hour).Abs() > time.Minute {
			t.Errorf("%s: got %s ahead, of %s, want an hour", what, ahead, m.GetServer())
		}
	}

	if _, err := client.TimeCheck(as(t.Context(), contract.RoleReader), &timeapi.TimeRequest{Server: good}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a reader names a server: got %v, want PermissionDenied", err)
	}

	r, err := client.TimeCheck(as(t.Context(), contract.RoleOperator), &timeapi.TimeRequest{Server: good})
	check("a given server", r, err)

	if _, err := client.Time(as(t.Context(), contract.RoleReader), &emptypb.Empty{}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("no servers: got %v", err)
	}

	// Nothing listens on the first address.
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	closed.Close()

	set(t, b, network.TimeServerID, network.TimeServerStatusSpec{NTPServers: []string{closed.LocalAddr().String(), good}})

	r, err = client.Time(as(t.Context(), contract.RoleReader), &emptypb.Empty{})
	check("the machine's second server", r, err)

	r, err = client.TimeCheck(as(t.Context(), contract.RoleReader), &timeapi.TimeRequest{Server: good})
	check("a reader names one of the machine's", r, err)
}

func TestTimeErrors(t *testing.T) {
	b := newBench(t)
	client := timeapi.NewTimeServiceClient(b.conn)

	for server, want := range map[string]codes.Code{"": codes.InvalidArgument, "127.0.0.1:1": codes.Unavailable, "127.0.0.1:port": codes.Unavailable} {
		if _, err := client.TimeCheck(as(t.Context(), contract.RoleOperator), &timeapi.TimeRequest{Server: server}); status.Code(err) != want {
			t.Errorf("%q: got %v, want %v", server, err, want)
		}
	}

	if _, err := client.TimeCheck(as(t.Context(), contract.RoleOperator), &timeapi.TimeRequest{Server: "/dev/ptp0"}); err == nil || !strings.Contains(err.Error(), "not a time server") {
		t.Errorf("a clock of the machine: got %v", err)
	}

	// A silent server does not block a caller who cancels.
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()

	ctx, cancel := context.WithCancel(calledWith(t.Context(), contract.RoleOperator))
	asked := make(chan time.Time, 1)

	go func() {
		defer cancel()

		silent.ReadFrom(make([]byte, 48)) // what is in it does not matter
		asked <- time.Now()
	}()

	_, err = (&timeService{server: b.Server}).TimeCheck(ctx, &timeapi.TimeRequest{Server: silent.LocalAddr().String()})
	if took := time.Since(<-asked); status.Code(err) != codes.Canceled || took >= ntpTimeout {
		t.Errorf("a silent server: got %v after %s, want Canceled at once", err, took)
	}
}
