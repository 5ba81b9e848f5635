// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/etcd"
)

func addresses(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}

	return out
}

func TestSpec(t *testing.T) {
	for name, test := range map[string]struct {
		config              etcd.ConfigSpec
		ipv6                bool
		addresses           []netip.Addr
		advertised, listens []string
		client              []string
		err                 string
	}{
		"one address": {
			addresses: addresses("172.20.0.2"), advertised: []string{"172.20.0.2"}, listens: []string{"0.0.0.0"}, client: []string{"0.0.0.0"},
		},
		"the kernel has IPv6, and no address is one yet": {
			ipv6: true, addresses: addresses("172.20.0.2"), advertised: []string{"172.20.0.2"}, listens: []string{"::"}, client: []string{"::"},
		},
		"IPv4 before IPv6, one only": {
			ipv6: true, addresses: addresses("fd00::2", "172.20.0.2"), advertised: []string{"172.20.0.2"}, listens: []string{"::"}, client: []string{"::"},
		},
		"never a pod's": {
			config:    etcd.ConfigSpec{AdvertiseExcludeSubnets: []string{"10.244.0.0/16"}},
			addresses: addresses("10.244.0.1", "172.20.0.2"), advertised: []string{"172.20.0.2"}, listens: []string{"0.0.0.0"}, client: []string{"0.0.0.0"},
		},
		"all of the named subnets": {
			ipv6:      true,
			config:    etcd.ConfigSpec{AdvertiseValidSubnets: []string{"192.168.0.0/16", "fd00::/64"}},
			addresses: addresses("172.20.0.2", "fd00::2", "192.168.1.2"), advertised: []string{"192.168.1.2", "fd00::2"}, listens: []string{"::"}, client: []string{"::"},
		},
		"listens on named subnets, and for clients on loopback": {
			config:    etcd.ConfigSpec{ListenValidSubnets: []string{"172.20.0.0/16"}},
			addresses: addresses("172.20.0.2", "192.168.1.2"), advertised: []string{"172.20.0.2"},
			listens: []string{"172.20.0.2"}, client: []string{"127.0.0.1", "172.20.0.2"},
		},
		"no match": {
			config:    etcd.ConfigSpec{AdvertiseValidSubnets: []string{"192.168.0.0/16"}},
			addresses: addresses("172.20.0.2"), listens: []string{"0.0.0.0"}, client: []string{"0.0.0.0"},
		},
		"not a subnet": {
			config: etcd.ConfigSpec{AdvertiseValidSubnets: []string{"x"}}, addresses: addresses("172.20.0.2"), err: "cluster.etcd.advertisedSubnets",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := etcdSpec(test.config, "cp1", test.addresses, test.ipv6)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got error %v, want %q", err, test.err)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			for what, pair := range map[string][2]any{
				"advertised": {addresses(test.advertised...), got.AdvertisedAddresses},
				"listens":    {addresses(test.listens...), got.ListenPeerAddresses},
				"client":     {addresses(test.client...), got.ListenClientAddresses},
			} {
				if diff := cmp.Diff(pair[0], pair[1], cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	spec := etcd.SpecSpec{
		Name: "cp1", AdvertisedAddresses: addresses("172.20.0.2"), Image: images.DefaultEtcd,
		ListenPeerAddresses: addresses("0.0.0.0"), ListenClientAddresses: addresses("0.0.0.0"),
	}

	got, err := settings.CommandLine(spec, settings.SelfCluster(spec), false)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		"--initial-cluster=cp1=https://172.20.0.2:2380", "--initial-cluster-state=new", "--data-dir=/var/lib/etcd",
		"--client-cert-auth=true", "--peer-client-cert-auth=true", "--tls-min-version=TLS1.3", "--auto-tls=false",
		"--listen-client-urls=https://0.0.0.0:2379", "--listen-client-http-urls=https://0.0.0.0:2383",
		"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true", "--watch-progress-notify-interval=5s",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}

	spec.ExtraArgs = map[string]etcd.ArgValues{"election-timeout": {Values: []string{"5000"}}, "initial-cluster": {Values: []string{"a=b"}}}
	if got, err = settings.CommandLine(spec, settings.SelfCluster(spec), false); err != nil || !slices.Contains(got, "--election-timeout=5000") || !slices.Contains(got, "--initial-cluster=a=b") {
		t.Errorf("extra arguments: got %q, %v", got, err)
	}

	spec.ExtraArgs = map[string]etcd.ArgValues{"data-dir": {Values: []string{"/x"}}}
	if _, err = settings.CommandLine(spec, settings.SelfCluster(spec), false); err == nil || !strings.Contains(err.Error(), "data-dir") {
		t.Errorf("denied argument: got error %v, want one that names it", err)
	}

	if !slices.Contains(images.Cache(), spec.Image) {
		t.Errorf("image %s is not in the image cache", spec.Image)
	}
}

// TestCheckBootstrap holds the reasons to refuse a bootstrap, and their order: the first one is what the user has to fix first.
func TestCheckBootstrap(t *testing.T) {
	good := Facts{Configured: true, ControlPlane: true, TimeUsable: true, DiskReady: true}

	for name, test := range map[string]struct {
		change  func(*Facts)
		request etcd.BootstrapRequestSpec
		want    error
	}{
		"may be done":          {},
		"no configuration":     {change: func(f *Facts) { *f = Facts{} }, want: ErrNotConfigured},
		"a worker":             {change: func(f *Facts) { f.ControlPlane = false }, want: ErrNotControlPlane},
		"a worker, no time":    {change: func(f *Facts) { f.ControlPlane, f.TimeUsable = false, false }, want: ErrNotControlPlane},
		"the clock is not set": {change: func(f *Facts) { f.TimeUsable = false }, want: ErrTimeNotSynced},
		"no disk yet":          {change: func(f *Facts) { f.DiskReady = false }, want: ErrDiskNotReady},
		"a member already":     {change: func(f *Facts) { f.HasData = true }, want: ErrHasData},
		"another has a cluster": {
			change: func(f *Facts) { f.Others = "cluster 1, with the members cp-1" }, want: ErrClusterExists,
		},
		"another has a cluster, from a snapshot": {
			change: func(f *Facts) { f.Others, f.HasSnapshot = "cluster 1", true }, request: etcdRecover, want: ErrClusterExists,
		},
		"asked already":   {change: func(f *Facts) { f.Asked = true }, want: ErrAlreadyAsked},
		"asked and done":  {change: func(f *Facts) { f.Asked, f.HasData = true, true }, want: ErrHasData},
		"no snapshot":     {request: etcdRecover, want: ErrNoSnapshot},
		"from a snapshot": {change: func(f *Facts) { f.HasSnapshot = true }, request: etcdRecover},
		"a snapshot, with data": {
			change: func(f *Facts) { f.HasSnapshot, f.HasData = true, true }, request: etcdRecover, want: ErrHasData,
		},
		"a snapshot again": {
			change: func(f *Facts) { f.HasSnapshot, f.Asked, f.AskedToRecover = true, true, true }, request: etcdRecover,
		},
		"a snapshot after a new cluster": {
			change: func(f *Facts) { f.HasSnapshot, f.Asked = true, true }, request: etcdRecover, want: ErrAlreadyAsked,
		},
		"a new cluster after a snapshot": {
			change: func(f *Facts) { f.HasSnapshot, f.Asked, f.AskedToRecover = true, true, true }, want: ErrAlreadyAsked,
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := good
			if test.change != nil {
				test.change(&facts)
			}

			if got := CheckBootstrap(facts, test.request); !errors.Is(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	for _, test := range []struct {
		data, wanted, added bool
		want                Start
	}{
		{false, false, false, StartWait}, {false, true, false, StartNew}, {true, false, false, StartData}, {true, true, false, StartData},
		{false, false, true, StartJoin}, {false, true, true, StartNew}, {true, false, true, StartData}, {true, true, true, StartData},
	} {
		if got := decide(test.data, test.wanted, test.added); got != test.want {
			t.Errorf("data %v, wanted %v, added %v: got %d, want %d", test.data, test.wanted, test.added, got, test.want)
		}
	}
}

// TestInterruptedStart holds that a directory without a log, after a power cut, counts as empty, and that one with a log is never
// changed.
func TestInterruptedStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	leftover := filepath.Join(dir, "member", "snap", "db")
	log := filepath.Join(dir, "member", "wal", "0000000000000000-0000000000000000.wal")

	write := func(path string) {
		t.Helper()

		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	check := func(want bool) {
		t.Helper()

		if got, err := hasData(dir); err != nil || got != want {
			t.Errorf("data: got %v, %v; want %v", got, err, want)
		}
	}

	check(false)
	write(leftover)
	write(filepath.Join(dir, "member", "wal.tmp", "x.wal"))
	check(false)

	if err := clearDataDir(dir); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(leftover); !os.IsNotExist(err) {
		t.Errorf("the files of an interrupted start: got %v, want them removed", err)
	}

	write(log)
	check(true)
}

// TestUnreadableData: a folder that cannot be read does not count as one without data, which would be cleared.
func TestUnreadableData(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, layout.EtcdLogDir)

	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if got, err := hasData(dir); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("got %v, %v; want an error", got, err)
	}

	if got, err := readIdentity(dir); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("got %v, %v; want an error", got, err)
	}
}

func TestPeerChange(t *testing.T) {
	members := []*etcdserverpb.Member{{ID: 1, PeerURLs: []string{"https://172.20.0.2:2380"}}, {ID: 2}}

	for name, test := range map[string]struct {
		self uint64
		at   string
		want bool
	}{
		"the same":         {1, "172.20.0.2", false},
		"moved":            {1, "172.20.0.3", true},
		"not a member yet": {3, "172.20.0.3", false},
	} {
		t.Run(name, func(t *testing.T) {
			urls, got := peerChange(members, test.self, etcd.SpecSpec{AdvertisedAddresses: addresses(test.at)})
			if got != test.want || got && urls[0] != "https://"+test.at+":2380" {
				t.Errorf("got %v, %q; want %v", got, urls, test.want)
			}
		})
	}
}
