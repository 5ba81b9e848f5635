// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/logsend"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/kmsg"
)

// The servers for the kernel's log are those of the kernel's arguments and of all documents.
func TestKmsgLogConfig(t *testing.T) {
	n := controllertest.Start(t, KmsgLogConfigController(cmdline.Parse("talos.logging.kernel=udp://192.0.2.1:5 quiet")))
	n.Configure([]byte("apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: a\nurl: tcp://192.0.2.2:6/\n---\napiVersion: v1alpha1\nkind: KmsgLogConfig\nname: b\nurl: udp://host.example.com:7\n"))

	got := controllertest.Wait(n, runtime.KmsgLogConfigID, func(s runtime.KmsgLogConfigSpec) bool { return len(s.Destinations) == 3 })

	want := runtime.KmsgLogConfigSpec{Destinations: []secrets.URL{{FullPath: "udp://192.0.2.1:5"}, {FullPath: "tcp://192.0.2.2:6/"}, {FullPath: "udp://host.example.com:7"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	none := controllertest.Start(t, KmsgLogConfigController(cmdline.Cmdline{}))
	none.Configure([]byte("apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: a\nurl: tcp://192.0.2.2:6/\n"))
	controllertest.Wait[runtime.KmsgLogConfigSpec](none, runtime.KmsgLogConfigID, nil)
	none.Configure([]byte("machine:\n  type: worker\n"))
	cositest.WaitGone[runtime.KmsgLogConfigSpec](none.Environment, runtime.KmsgLogConfigID)
}

// messages reads the texts of objects from the next connection.
func messages(t *testing.T, listener net.Listener, count int) (all []string) {
	t.Helper()

	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if err := conn.SetReadDeadline(time.Now().Add(cositest.Patience)); err != nil {
		t.Fatal(err)
	}

	for lines := bufio.NewScanner(conn); len(all) < count && lines.Scan(); {
		var fields map[string]any
		if err := json.Unmarshal(lines.Bytes(), &fields); err != nil {
			t.Fatal(err)
		}

		text, _ := fields["msg"].(string)
		if tag, ok := fields["cluster"].(string); ok {
			text += " @" + tag
		}

		all = append(all, text)
	}

	return all
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()

	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { listener.Close() })

	return listener
}

// TestKmsgLogDelivery: the kernel's log goes to each server, a server that cannot be reached has a condition until it can, and nothing is
// sent to one that is no longer configured.
func TestKmsgLogDelivery(t *testing.T) {
	closed := listen(t, "127.0.0.1:0")
	address := closed.Addr().String()
	closed.Close()

	first := listen(t, "127.0.0.1:0")

	more := make(chan string)
	ended := make(chan struct{}, 2)
	read := func(ctx context.Context, fn func(kmsg.Message) error) error {
		defer func() { ended <- struct{}{} }()

		for _, text := range []string{"one", "two"} {
			if err := fn(kmsg.Message{Text: text}); err != nil {
				return err
			}
		}

		for {
			select {
			case <-ctx.Done():
				return nil
			case text := <-more:
				if err := fn(kmsg.Message{Text: text}); err != nil {
					return err
				}
			}
		}
	}

	n := controllertest.Start(t, KmsgLogDeliveryController(read, time.Now))

	id := "kernel-log/tcp://" + address
	both := runtime.KmsgLogConfigSpec{Destinations: []secrets.URL{{FullPath: "tcp://" + first.Addr().String()}, {FullPath: "tcp://" + address}}}
	controllertest.Set(n, runtime.KmsgLogConfigID, both)

	if got := strings.Join(messages(t, first, 2), " "); got != "one two" {
		t.Errorf("got %q", got)
	}

	controllertest.Wait(n, id, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "connection refused") })
	n.Quiet(100 * time.Millisecond)

	second := listen(t, address)

	if got := strings.Join(messages(t, second, 2), " "); got != "one two" {
		t.Errorf("got %q", got)
	}

	cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, id)

	both.Destinations = nil
	controllertest.Set(n, runtime.KmsgLogConfigID, both)

	for range 2 {
		select {
		case <-ended:
		case <-time.After(cositest.Patience):
			t.Fatal("the kernel's log is still read")
		}
	}
}

// TestServiceLogDelivery: the logs of services go to the servers of machine.logging with their tags, from the first line on. A change of
// the tags takes effect.
func TestServiceLogDelivery(t *testing.T) {
	server := listen(t, "127.0.0.1:0")
	outlet := &logsend.Outlet{}
	outlet.Append("machined", []byte("first"))

	n := controllertest.Start(t, ServiceLogDeliveryController(outlet))

	destination := "machine:\n  type: worker\n  logging:\n    destinations:\n      - endpoint: tcp://" + server.Addr().String() + "\n        format: json_lines\n        extraTags: {cluster: "
	n.Configure([]byte(destination + "a}\n"))

	if got := strings.Join(messages(t, server, 1), " "); got != "first @a" {
		t.Errorf("got %q", got)
	}

	n.Configure([]byte(destination + "b}\n"))
	n.Quiet(100 * time.Millisecond)
	outlet.Append("etcd", []byte("second"))

	if got := strings.Join(messages(t, server, 1), " "); got != "second @b" {
		t.Errorf("got %q", got)
	}

	n.Configure([]byte("machine:\n  type: worker\n"))
	n.Quiet(100 * time.Millisecond)
}

// TestKernelLogServerWithoutPort: a server of the kernel's arguments that is wrong has a condition, and the others get the log.
func TestKernelLogServerWithoutPort(t *testing.T) {
	server := listen(t, "127.0.0.1:0")
	read := func(ctx context.Context, fn func(kmsg.Message) error) error {
		if err := fn(kmsg.Message{Text: "one"}); err != nil {
			return err
		}

		<-ctx.Done()

		return nil
	}

	n := controllertest.Start(t, KmsgLogDeliveryController(read, time.Now))
	controllertest.Set(n, runtime.KmsgLogConfigID, runtime.KmsgLogConfigSpec{
		Destinations: []secrets.URL{{FullPath: "tcp://192.0.2.1"}, {FullPath: "tcp://" + server.Addr().String()}},
	})

	if got := strings.Join(messages(t, server, 1), " "); got != "one" {
		t.Errorf("got %q", got)
	}

	controllertest.Wait(n, "kernel-log/tcp://192.0.2.1", func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "has no port") })
	n.Quiet(100 * time.Millisecond)
}

func TestSteady(t *testing.T) {
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
		Err: "read udp 10.5.0.2:43124->10.5.0.1:53: i/o timeout", Name: "logs.example.com", Server: "10.5.0.1:53",
	}}

	if got, want := steady(lookup), "dial tcp: lookup logs.example.com on 10.5.0.1:53: read udp 10.5.0.1:53: i/o timeout"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
