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

// TestWatchLimit: the watches of one host are limited, and those of others are not affected.
func TestWatchLimit(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	s := server.New(server.Options{Watches: 2, Trust: server.Trust{
		RealIP: true, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}}, slog.New(slog.DiscardHandler))
	api := serve(t, s, listener)()

	watch := func(from string) (stop func(), err error) {
		ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(t.Context(), "x-real-ip", from))

		w, err := api.Watch(ctx, &serverapi.WatchRequest{ClusterId: "c"})
		if err == nil {
			_, err = w.Recv()
		}

		return cancel, err
	}

	var stops []func()

	for range 2 {
		stop, err := watch("2001:db8::1")
		if err != nil {
			t.Fatal(err)
		}

		stops = append(stops, stop)
	}

	if stop, err := watch("2001:db8::2"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one too many: %v", err)
	} else {
		stop()
	}

	stop, err := watch("2001:db8:0:1::1")
	if err != nil {
		t.Errorf("another host: %v", err)
	}

	defer stop()

	stops[0]()

	for {
		stop, err := watch("2001:db8::3")
		defer stop()

		if err == nil {
			break
		}

		if status.Code(err) != codes.ResourceExhausted || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}

	stops[1]()
}

// TestLargeLists: a host that asks for large answers may make fewer calls, since it need not read them.
func TestLargeLists(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	s := server.New(server.Options{Rate: 0.001, Burst: 40}, slog.New(slog.DiscardHandler))

	for i := range 1000 {
		in := update(fmt.Sprint(i), string(make([]byte, 2048)), time.Minute)

		if _, err := s.AffiliateUpdate(t.Context(), in); err != nil { // no peer, no limit
			t.Fatal(err)
		}
	}

	api := serve(t, s, listener)()

	if _, err := api.List(t.Context(), &serverapi.ListRequest{ClusterId: "c"}); err != nil {
		t.Fatal(err)
	}

	if _, err := api.List(t.Context(), &serverapi.ListRequest{ClusterId: "c"}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the second list of 2 MB: %v", err)
	}
}
