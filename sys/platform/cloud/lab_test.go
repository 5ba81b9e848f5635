// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/lab/gateway/metadata"
	"github.com/seed-59268b81/talos/sys/platform"
)

const userData = "version: v1alpha1\nmachine: {}\n"

// labInstance returns a machine with two cards, the first with both protocols.
func labInstance(name string) metadata.Instance {
	return metadata.Instance{
		Platform: name, ID: "4711", Name: "node-1", Domain: "lab.example", Type: "large", Project: "project", Region: "north", Zone: "north-1",
		UserData: []byte(userData), Tags: map[string]string{"role": "worker"}, Public4: netip.MustParseAddr("198.51.100.7"),
		DNS: []netip.Addr{netip.MustParseAddr("10.5.0.1")},
		Cards: []metadata.Card{{
			MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}, MTU: 1500,
			Addrs:   []netip.Prefix{netip.MustParsePrefix("10.5.0.2/24"), netip.MustParsePrefix("fd05::2/64")},
			Routers: []netip.Addr{netip.MustParseAddr("10.5.0.1"), netip.MustParseAddr("fd05::1")},
		}, {
			MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 3}, MTU: 1400,
			Addrs: []netip.Prefix{netip.MustParsePrefix("10.6.0.2/24")},
		}},
	}
}

// lab is a transport to the lab's metadata server, whatever the address.
type lab struct {
	server *metadata.Server
	// port is the client's.
	port string
}

func (l lab) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	r.RemoteAddr = net.JoinHostPort("10.5.0.2", l.port)
	l.server.Serve(w, r, "node-1")

	return w.Result(), nil
}

// fetchFrom returns a Fetch of the lab's server for an instance. Volumes are absent.
func fetchFrom(t testing.TB, in metadata.Instance) Fetch {
	t.Helper()

	server, err := metadata.New([]metadata.Instance{in})
	if err != nil {
		t.Fatal(err)
	}

	return func(ctx context.Context, r Request) ([]byte, error) {
		if strings.HasPrefix(r.URL, volumes) {
			return nil, ErrNotFound
		}

		port := "40000"
		if r.LowPort {
			port = "1023"
		}

		return HTTP(lab{server, port})(ctx, r)
	}
}

// onLab returns a cloud as a machine of the lab finds it.
func onLab(t testing.TB, name string) *Cloud {
	t.Helper()

	c, ok := Find(name, platform.Hardware{Serial: "ds=nocloud;s=http://10.5.0.1/seed/"})
	if !ok {
		t.Fatalf("platform %s is unknown", name)
	}

	return c
}

// TestLab reads the metadata servers of the lab: -rewrite writes what is read; commit only what you understand. The command machine
// prints what the platform says about the machine.
func TestLab(t *testing.T) {
	datadriven.RunTest(t, "testdata/lab.txt", func(t *testing.T, d *datadriven.TestData) string {
		m, err := onLab(t, d.CmdArgs[0].Key).Machine(t.Context(), fetchFrom(t, labInstance(d.CmdArgs[0].Key)))
		if err != nil {
			return err.Error() + "\n"
		}

		return show(t, m)
	})
}

// show returns a machine as YAML, without what is empty.
func show(t testing.TB, m Machine) string {
	t.Helper()

	var all yaml.Node
	if err := all.Encode(m); err != nil {
		t.Fatal(err)
	}

	prune(&all)

	text, err := yaml.Marshal(&all)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// prune removes the keys whose value is empty.
func prune(node *yaml.Node) {
	for _, below := range node.Content {
		prune(below)
	}

	if node.Kind != yaml.MappingNode {
		return
	}

	var kept []*yaml.Node

	for pair := range slices.Chunk(node.Content, 2) {
		if v := pair[1]; len(v.Content) > 0 || v.Kind == yaml.ScalarNode && !slices.Contains([]string{"", "null", "false", "0"}, v.Value) {
			kept = append(kept, pair...)
		}
	}

	node.Content = kept
}

// TestConfiguration checks on each platform that the configuration is found, that its absence is not an error, and that a server that does not
// answer is one.
func TestConfiguration(t *testing.T) {
	for _, name := range metadata.Platforms() {
		in := labInstance(name)
		c := onLab(t, name)

		if got, err := c.Configuration(t.Context(), fetchFrom(t, in)); string(got) != userData || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}

		for _, none := range []string{"", "#cloud-config\nusers: []\n"} {
			in.UserData = []byte(none)
			if got, err := c.Configuration(t.Context(), fetchFrom(t, in)); got != nil || err != nil {
				t.Errorf("%s with user data %q: got %q, %v, want nothing", name, none, got, err)
			}
		}

		down := func(context.Context, Request) ([]byte, error) { return nil, context.DeadlineExceeded }
		if _, err := c.Configuration(t.Context(), down); err == nil || !strings.Contains(err.Error(), "platform "+name+": read the configuration: ") {
			t.Errorf("%s without its server: got error %v", name, err)
		}

		if _, err := c.Machine(t.Context(), down); err == nil {
			t.Errorf("%s without its server: got no error", name)
		}
	}
}

// TestFirstPlaceAnswers checks that a cloud whose first place has no configuration is not asked at another one, which may not exist.
func TestFirstPlaceAnswers(t *testing.T) {
	for _, name := range Names() {
		c, _ := Find(name, platform.Hardware{})

		first := func(_ context.Context, r Request) ([]byte, error) {
			switch {
			case slices.ContainsFunc(c.user, func(u user) bool { return r.URL == under(c.bases[0], u.path) }):
				return nil, ErrNotFound
			case !strings.HasPrefix(r.URL, c.bases[0]):
				return nil, context.DeadlineExceeded
			default:
				return []byte("{}"), nil
			}
		}

		if got, err := c.Configuration(t.Context(), first); got != nil || err != nil {
			t.Errorf("%s: got %q, %v, want nothing", name, got, err)
		}
	}

	absent := func(_ context.Context, r Request) ([]byte, error) {
		if strings.HasPrefix(r.URL, volumes) {
			return nil, ErrNotFound
		}

		return []byte(userData), nil
	}

	c, _ := Find("openstack", platform.Hardware{})
	if got, err := c.Configuration(t.Context(), absent); string(got) != userData || err != nil {
		t.Errorf("openstack without a drive: got %q, %v, want the server's", got, err)
	}
}

// TestManyTags checks that a long list of tags does not lead to as many requests.
func TestManyTags(t *testing.T) {
	if got := aws.more(documents{ec2Tags: []byte(strings.Repeat("tag\n", 1000))}); len(got) != ec2MaxTags {
		t.Errorf("got %d requests, want %d", len(got), ec2MaxTags)
	}
}

// TestBareInstance checks that a machine without addresses or names is read without complaints.
func TestBareInstance(t *testing.T) {
	for _, name := range metadata.Platforms() {
		m, err := onLab(t, name).Machine(t.Context(), fetchFrom(t, metadata.Instance{
			Platform: name, Name: "node-1", Cards: []metadata.Card{{MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}}},
		}))
		if err != nil || len(m.Ignored) > 0 {
			t.Errorf("%s: got %v, ignored %q", name, err, m.Ignored)
		}
	}
}

// TestAzureReport checks that Azure learns that the machine has started.
func TestAzureReport(t *testing.T) {
	if err := onLab(t, "azure").Report(t.Context(), fetchFrom(t, labInstance("azure"))); err != nil {
		t.Error(err)
	}

	got, err := azureReady([]byte(`<GoalState><Incarnation>7</Incarnation><Container><ContainerId>c</ContainerId><RoleInstanceList><RoleInstance>` +
		`<InstanceId>i</InstanceId></RoleInstance></RoleInstanceList></Container></GoalState>`))

	const want = `<Health><GoalStateIncarnation>7</GoalStateIncarnation><Container><ContainerId>c</ContainerId><RoleInstanceList><Role>` +
		`<InstanceId>i</InstanceId><Health><State>Ready</State></Health></Role></RoleInstanceList></Container></Health>`
	if err != nil || !strings.HasSuffix(string(got), want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}

	if _, err := azureReady([]byte("<GoalState/>")); err == nil {
		t.Error("a goal state without a container: got no error")
	}
}

// TestLabHasEachPlatform checks that a platform without a test on the lab is one without a metadata server.
func TestLabHasEachPlatform(t *testing.T) {
	for _, name := range Names() {
		if _, err := metadata.New([]metadata.Instance{labInstance(name)}); err != nil && name != "opennebula" && name != "vmware" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
