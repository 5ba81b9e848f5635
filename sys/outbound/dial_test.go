// SPDX-License-Identifier: Apache-2.0

//go:build linux

package outbound

import (
	"errors"
	"net"
	"os"
	"testing"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/nstest"
)

func TestCurrentServer(t *testing.T) {
	const file = "# by the machine\nnameserver 192.0.2.1\nnameserver 2001:db8::1\nsearch example\n"

	for _, tt := range []struct{ file, address, want string }{
		{file, "192.0.2.1:53", "192.0.2.1:53"},
		{file, "[2001:db8::1]:53", "[2001:db8::1]:53"},
		{file, "127.0.0.1:53", "192.0.2.1:53"},
		{"nameserver 2001:db8::1\n", "127.0.0.1:53", "[2001:db8::1]:53"},
		{"", "127.0.0.1:53", "127.0.0.1:53"},
		{"nameserver\n", "127.0.0.1:53", "127.0.0.1:53"},
		{file, "nothing", "nothing"},
	} {
		if got := currentServer(tt.file, tt.address); got != tt.want {
			t.Errorf("%q of %q: got %s, want %s", tt.address, tt.file, got, tt.want)
		}
	}
}

// TestNewNameServer: a name is found as soon as the file has a name server that knows it, although package net has just read the file without.
func TestNewNameServer(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	loopbackUp(t)

	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	packets, err := net.ListenPacket("udp", "127.0.0.2:53")
	if err != nil {
		t.Fatal(err)
	}

	server := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		if q := question.Question[0]; q.Qtype == dns.TypeA {
			answer.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: net.IPv4(127, 0, 0, 2)}}
		}

		_ = w.WriteMsg(answer)
	})}

	go server.ActivateAndServe()
	defer server.Shutdown()

	file := t.TempDir() + "/resolv.conf"
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	write("")

	if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount(file, resolvConf, "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}

	_, port, _ := net.SplitHostPort(listener.Addr().String())
	dial := func() error {
		conn, err := Dial(t.Context(), "tcp", net.JoinHostPort("config.example", port))
		if err == nil {
			err = conn.Close()
		}

		return err
	}

	if err := dial(); err == nil {
		t.Error("without a name server: got a connection")
	}

	write("nameserver 127.0.0.2\n")

	if err := dial(); err != nil {
		t.Errorf("with a name server: got %v", err)
	}
}

// loopbackUp sets the loopback of a new network namespace up.
func loopbackUp(t *testing.T) {
	t.Helper()

	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)

	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}

	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)

	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
}
