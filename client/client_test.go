// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/client/clienttest"
)

func connect(t *testing.T, s *clienttest.Server, options ...client.Option) *client.Client {
	t.Helper()

	c, err := client.Connect(s.Context, options...)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { c.Close() })

	return c
}

func TestCallsGoToTheNode(t *testing.T) {
	s := clienttest.Start(t, map[string]*clienttest.Node{
		"":           {Version: &machine.VersionInfo{Tag: "v0"}},
		"172.20.0.2": {Version: &machine.VersionInfo{Tag: "v1"}},
	})
	c := connect(t, s)

	here, err := c.Version(t.Context())
	if err != nil || here.GetVersion().GetTag() != "v0" {
		t.Errorf("without a node: got %v, %v, want v0", here, err)
	}

	there, err := c.Version(client.WithNode(client.WithNode(t.Context(), "172.20.0.1"), "172.20.0.2"))
	if err != nil || there.GetVersion().GetTag() != "v1" {
		t.Errorf("with a node: got %v, %v, want v1", there, err)
	}
}

func TestEndpointThatIsDownIsPassedBy(t *testing.T) {
	s := clienttest.Start(t, map[string]*clienttest.Node{"": {Version: &machine.VersionInfo{Tag: "v0"}}})
	s.Context.Endpoints = []string{unusedEndpoint(t), s.Endpoint}
	c := connect(t, s)

	for range 10 {
		if _, err := c.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func unusedEndpoint(t *testing.T) string {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	defer listener.Close()

	return listener.Addr().String()
}

func TestLogsReadsWholeStream(t *testing.T) {
	text := strings.Repeat("a line of a log\n", 1000)
	s := clienttest.Start(t, map[string]*clienttest.Node{"": {Logs: map[string]string{"system/etcd": text}}})
	c := connect(t, s)

	stream := c.Logs(t.Context(), &machine.LogsRequest{Namespace: "system", Id: "etcd", TailLines: -1})
	defer stream.Close()

	got, err := io.ReadAll(stream)
	if err != nil || string(got) != text {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(text))
	}
}

func TestUnknownEventsAreKept(t *testing.T) {
	later := clienttest.Event("2", "", &machine.SequenceEvent{})
	later.Data.TypeUrl = "talos/runtime/machine.EventOfALaterVersion"
	s := clienttest.Start(t, map[string]*clienttest.Node{"": {Events: []*machine.Event{
		clienttest.Event("1", "actor", &machine.SequenceEvent{Sequence: "boot"}), later,
	}}})

	var got []string

	for event, err := range connect(t, s).Events(t.Context(), &machine.EventsRequest{TailEvents: -1}) {
		if err != nil {
			break
		}

		got = append(got, event.ID+" "+event.ActorID+" "+event.Type)

		if (event.Payload == nil) != (event.ID == "2") {
			t.Errorf("got payload %v of event %s", event.Payload, event.ID)
		}
	}

	if diff := cmp.Diff([]string{"1 actor machine.SequenceEvent", "2  machine.EventOfALaterVersion"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWatch(t *testing.T) {
	kind := client.Kind{Namespace: "n", Type: "Things.test.dev"}
	broken := "the state is gone"
	s := clienttest.Start(t, map[string]*clienttest.Node{"": {
		Resources: []*cosiapi.Resource{clienttest.Resource("n", "Things.test.dev", "a", "{}"), clienttest.Resource("n", "Others.test.dev", "b", "{}")},
		Changes: []*cosiapi.Event{
			{EventType: cosiapi.EventType_UPDATED, Resource: clienttest.Resource("n", "Things.test.dev", "c", "{}")},
			{EventType: cosiapi.EventType_ERRORED, Error: &broken},
		},
	}})
	c := connect(t, s)

	for _, tt := range []struct {
		id   string
		want []string
	}{
		{id: "", want: []string{"CREATED a", "BOOTSTRAPPED ", "UPDATED c", "the state is gone"}},
		{id: "a", want: []string{"CREATED a", "the state is gone"}},
	} {
		var got []string

		for event, err := range c.WatchResources(t.Context(), kind, tt.id) {
			if err != nil {
				_, text, _ := strings.Cut(err.Error(), ": ")
				got = append(got, text)

				break
			}

			got = append(got, event.GetEventType().String()+" "+event.GetResource().GetMetadata().GetId())
		}

		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("id %q (-want +got):\n%s", tt.id, diff)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name      string
		endpoints []string
		options   []client.Option
		want      string
	}{
		{name: "no endpoints", options: []client.Option{client.WithInsecure()}, want: "no endpoints"},
		{name: "no identity", endpoints: []string{"a"}, want: "no client certificate"},
		{name: "port", endpoints: []string{"a:0"}, options: []client.Option{client.WithInsecure()}, want: `port "0"`},
		{name: "scheme", endpoints: []string{"https://a"}, options: []client.Option{client.WithInsecure()}, want: "without a scheme"},
		{name: "colons", endpoints: []string{"a:1:2"}, options: []client.Option{client.WithInsecure()}, want: "[IPv6]:port"},
		{name: "empty", endpoints: []string{""}, options: []client.Option{client.WithInsecure()}, want: `endpoint ""`},
		{name: "ca", endpoints: []string{"a"}, options: []client.Option{client.WithCertificates([]byte("x"), nil, nil)}, want: "no PEM certificate"},
		{name: "fingerprint", endpoints: []string{"a"}, options: []client.Option{client.WithInsecure("zz")}, want: "not a SHA-256 sum"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := client.New(tt.endpoints, tt.options...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// TestIdentityForLost: the certificate is shown to a machine that has lost its configuration, and to no other.
func TestIdentityForLost(t *testing.T) {
	node := &clienttest.Node{Version: &machine.VersionInfo{Tag: "v0"}}
	mine, theirs := clienttest.Start(t, map[string]*clienttest.Node{"": node}), clienttest.Start(t, map[string]*clienttest.Node{"": node})

	for _, tt := range []struct {
		name     string
		endpoint string
		want     string // in the error; "" for none
	}{
		{"lost its configuration", clienttest.StartLost(t, node, mine.Context).Endpoint, ""},
		{"lost, of another cluster", clienttest.StartLost(t, node, theirs.Context).Endpoint, "certificate"},
		{"has its configuration", mine.Endpoint, "certificate required"},
		{"in maintenance", clienttest.StartMaintenance(t, node).Endpoint, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := client.New([]string{tt.endpoint}, client.WithInsecure(), client.WithIdentity(mine.Context.Crt, mine.Context.Key))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()

			if _, err = c.Version(t.Context()); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
