// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/beevik/ntp"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
)

// Look is a machine's view of its network.
type Look struct {
	// PeerAddr and WorldAddr are answers of DNS.
	PeerAddr, WorldAddr string
	// Peer and Gateway are answers to pings.
	Peer, Gateway string
	// ClockOffset is the difference from NTP's time, in seconds.
	ClockOffset float64
	NTP         string
	// World are the results of connections to the world, by address, and Slow their duration.
	World map[string]string
	Slow  time.Duration
}

func (l *Lease) look(peer string) Look {
	look := Look{
		PeerAddr: resolve(peer), WorldAddr: resolve("registry.k8s.io"),
		Gateway: ping(l.Router), World: map[string]string{},
	}
	look.Peer = ping(look.PeerAddr)

	if answer, err := ntp.Query(l.NTP); err != nil {
		look.NTP = err.Error()
	} else if err := answer.Validate(); err != nil {
		look.NTP = err.Error()
	} else {
		look.NTP, look.ClockOffset = "ok", answer.ClockOffset.Seconds()
	}

	start := time.Now()

	for _, to := range []string{"192.0.2.1:443", "198.51.100.7:80", l.Router + ":22"} {
		conn, err := net.DialTimeout("tcp", to, 5*time.Second)
		if err == nil {
			_ = conn.Close()
			look.World[to] = "connected"
		} else {
			look.World[to] = err.Error()
		}
	}

	look.World["ping 192.0.2.1"] = ping("192.0.2.1")
	look.Slow = time.Since(start)

	return look
}

func resolve(name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	resolver := net.Resolver{PreferGo: true}

	addrs, err := resolver.LookupNetIP(ctx, "ip4", name)
	if err != nil {
		return err.Error()
	}

	return addrs[0].String()
}

// readAll returns what a server says, or the error.
func readAll(from string) string {
	conn, err := net.DialTimeout("tcp", from, 10*time.Second)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()

	text, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}

	return string(text)
}

// ping returns "ok" or the error.
func ping(to string) string {
	conn, err := icmp.ListenPacket("ip4:icmp", "0.0.0.0")
	if err != nil {
		return err.Error()
	}
	defer conn.Close()

	id := int(time.Now().UnixNano() & 0xffff)
	echo := icmp.Message{Type: ipv4.ICMPTypeEcho, Body: &icmp.Echo{ID: id, Seq: os.Getpid(), Data: []byte("lab")}}

	packet, err := echo.Marshal(nil)
	if err != nil {
		return err.Error()
	}

	if _, err := conn.WriteTo(packet, &net.IPAddr{IP: net.ParseIP(to)}); err != nil {
		return err.Error()
	}

	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))

	for buf := make([]byte, 1500); ; {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return err.Error()
		}

		message, err := icmp.ParseMessage(1, buf[:n])
		if err != nil {
			return err.Error()
		}

		switch body := message.Body.(type) {
		case *icmp.Echo:
			if message.Type == ipv4.ICMPTypeEchoReply && body.ID == id {
				return "ok"
			}
		case *icmp.DstUnreach:
			return fmt.Sprintf("%v: unreachable", from)
		}
	}
}
