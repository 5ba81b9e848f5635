// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/server"
)

// TestCaller checks which address the service sees, over a real connection.
func TestCaller(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

	for name, c := range map[string]struct {
		trust server.Trust
		md    metadata.MD
		want  string
	}{
		"no proxies": {server.Trust{RealIP: true, ForwardedFor: true}, metadata.Pairs("x-real-ip", "203.0.113.1"), "127.0.0.1"},
		"real IP":    {server.Trust{RealIP: true, ForwardedFor: true, Proxies: loopback}, metadata.Pairs("x-real-ip", "203.0.113.1", "x-forwarded-for", "203.0.113.2"), "203.0.113.1"},
		"forwarded":  {server.Trust{RealIP: true, ForwardedFor: true, Proxies: loopback}, metadata.Pairs("x-forwarded-for", "2001:db8::1, 203.0.113.2"), "2001:db8::1"},
		"off":        {server.Trust{Proxies: loopback}, metadata.Pairs("x-real-ip", "203.0.113.1", "x-forwarded-for", "203.0.113.2"), "127.0.0.1"},
		"nonsense":   {server.Trust{RealIP: true, Proxies: loopback}, metadata.Pairs("x-real-ip", "me"), "127.0.0.1"},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}

		s := server.New(server.Options{Trust: c.trust}, slog.New(slog.DiscardHandler))
		ctx := metadata.NewOutgoingContext(t.Context(), c.md)

		hello, err := serve(t, s, listener)().Hello(ctx, &serverapi.HelloRequest{ClusterId: "c"})
		if err != nil {
			t.Fatal(err)
		}

		if got, _ := netip.AddrFromSlice(hello.GetClientIp()); got.String() != c.want {
			t.Errorf("%s: the service sees %s, want %s", name, got, c.want)
		}
	}
}

func TestRateLimit(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	s := server.New(server.Options{Rate: 0.001, Burst: 3, Trust: server.Trust{
		RealIP: true, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}}, slog.New(slog.DiscardHandler))
	api := serve(t, s, listener)()

	call := func(from string) error {
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "x-real-ip", from), time.Minute)
		defer cancel()

		_, err := api.Hello(ctx, &serverapi.HelloRequest{ClusterId: "c"})

		return err
	}

	// The addresses of a /64 are one host.
	for i := range 3 {
		if err := call(fmt.Sprintf("2001:db8::%d", i)); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}

	if err := call("2001:db8::99"); status.Code(err) != codes.ResourceExhausted || status.Convert(err).Message() != "rate limit exceeds request timeout" {
		t.Errorf("the fourth call: %v", err)
	}

	if err := call("2001:db8:0:1::1"); err != nil {
		t.Errorf("a call of another host: %v", err)
	}
}
