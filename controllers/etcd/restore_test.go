// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// runner is a fake of a container.
type runner func() error

func (r runner) Run(_ context.Context, run supervisor.Run) error {
	run.Started(1)

	return r()
}

// TestRestore: the data is complete or missing, and etcd starts only with complete data.
func TestRestore(t *testing.T) {
	broken := errors.New("the hash does not match")

	for _, tt := range []struct {
		name string
		// tool leaves these files below restoreDir, and then fails with err.
		tool []string
		err  error
		// before are files that exist before the restore.
		before  []string
		after   []string
		started bool
		want    string
	}{
		{
			name: "restores", before: []string{"etcd.snapshot"}, tool: []string{"member/wal/0.wal", "member/snap/db"},
			after: []string{"etcd/member/snap/db", "etcd/member/wal/0.wal"}, started: true,
		},
		{
			name: "after a try that was cut short", before: []string{"etcd.snapshot", "etcd/restore/member/wal/old.wal"}, tool: []string{"member/wal/0.wal"},
			after: []string{"etcd/member/wal/0.wal"}, started: true,
		},
		{
			name: "a bad snapshot", before: []string{"etcd.snapshot"}, tool: []string{"member/snap/db"}, err: broken,
			after: []string{"etcd.snapshot", "etcd/restore/member/snap/db"}, want: "restore the etcd snapshot: the hash does not match",
		},
		{
			name: "nothing was restored", before: []string{"etcd.snapshot"}, after: []string{"etcd.snapshot"}, want: "restore the etcd snapshot: rename",
		},
		{
			name: "it was restored before", before: []string{"etcd/member/wal/1.wal"}, after: []string{"etcd/member/wal/1.wal"}, started: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			lib := filepath.Join(root, filepath.Dir(DataDir))

			for _, name := range append([]string{"etcd/"}, tt.before...) {
				write(t, filepath.Join(lib, name), strings.HasSuffix(name, "/"))
			}

			started := 0
			r := &Runner{
				root: root, begins: true,
				tool: func() supervisor.Runner {
					return runner(func() error {
						for _, name := range tt.tool {
							write(t, filepath.Join(root, restoreDir, name), false)
						}

						return tt.err
					})
				},
				Etcd: runner(func() error { return nil }),
			}

			err := r.Run(t.Context(), supervisor.Run{Log: io.Discard, Started: func(int) { started++ }, Preparing: func(string) {}})
			if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}

			if (started == 1) != tt.started {
				t.Errorf("Started was called %d times, want %t", started, tt.started)
			}

			if diff := cmp.Diff(tt.after, files(t, lib)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// TestToken: each new cluster has a token of its own, and none is a reason to restart etcd.
func TestToken(t *testing.T) {
	c := &serviceController{address: netip.MustParseAddr("127.0.0.1"), container: func(c *container.Container) supervisor.Runner { return argv(c.Argv) }}
	spec := etcd.SpecSpec{Name: "cp-1", AdvertisedAddresses: []netip.Addr{netip.MustParseAddr("10.5.0.2")}}

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}

	pair, err := ca.Sign(pki.LeafOptions{CommonName: "talos", Client: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	root := secrets.EtcdRootSpec{EtcdCA: secrets.CertAndKey{Crt: ca.PEM.Crt}}
	certs := secrets.EtcdCertsSpec{EtcdAdmin: secrets.CertAndKey(pair)}

	token := func(newCluster bool) (token, fingerprint string) {
		t.Helper()

		service, err := c.service(spec, root, certs, newCluster)
		if err != nil {
			t.Fatal(err)
		}

		return service.Runner.(argv).token(), service.Fingerprint
	}

	first, fingerprint := token(true)
	second, again := token(true)
	none, later := token(false)

	if first == "" || second == "" || first == second || none != "" {
		t.Errorf("tokens: got %q and %q of new clusters, %q with data", first, second, none)
	}

	if fingerprint != again || fingerprint != later {
		t.Error("the token restarts etcd")
	}

	tool := func() string { return argv(restoreTool(spec, new(atomic.Bool))().(*container.Container).Argv).token() }
	if first, second := tool(), tool(); first == "" || first == second {
		t.Errorf("tokens of restored clusters: got %q and %q", first, second)
	}

	spec.ExtraArgs = map[string]etcd.ArgValues{"initial-cluster-token": {Values: []string{"mine"}}}

	if got, _ := token(true); got != "--initial-cluster-token=mine" {
		t.Errorf("with a token of the configuration: got %q", got)
	}
}

// argv is a program that is not run.
type argv []string

func (argv) Run(context.Context, supervisor.Run) error { return nil }

func (a argv) token() string {
	var all []string

	for _, arg := range a {
		if strings.HasPrefix(arg, "--initial-cluster-token=") {
			all = append(all, arg)
		}
	}

	return strings.Join(all, " ")
}

// TestMemberWithoutData: a member that had data does not start without it, because that would start a new cluster.
func TestMemberWithoutData(t *testing.T) {
	root := t.TempDir()
	wal := filepath.Join(root, DataDir, "member", "wal", "0.wal")
	runs := 0

	run := func(m *Runner) error {
		return m.Run(t.Context(), supervisor.Run{Log: io.Discard, Started: func(int) {}, Preparing: func(string) {}})
	}

	m := &Runner{root: root, begins: true}
	m.Etcd = runner(func() error {
		runs++

		// The first two attempts end before there is data.
		if runs == 3 {
			write(t, wal, false)

			for !m.hadData.Load() {
				time.Sleep(time.Millisecond)
			}

			return os.RemoveAll(filepath.Dir(wal))
		}

		return nil
	})

	for try := 1; try <= 3; try++ {
		if err := run(m); err != nil || runs != try {
			t.Fatalf("run %d: got %v after %d runs", try, err, runs)
		}
	}

	if err := run(m); !errors.Is(err, errDataGone) || runs != 3 {
		t.Errorf("without data: got %v after %d runs, want %v", err, runs, errDataGone)
	}

	if err := run(&Runner{root: root, Etcd: m.Etcd}); !errors.Is(err, errDataGone) || runs != 3 {
		t.Errorf("it was there when the machine booted: got %v after %d runs, want %v", err, runs, errDataGone)
	}
}

func write(t *testing.T, path string, dir bool) {
	t.Helper()

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}

	if dir {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}

		return
	}

	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func files(t *testing.T, dir string) (found []string) {
	t.Helper()

	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path) // it is below
			found = append(found, name)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	slices.Sort(found)

	return found
}

func TestRestoreTool(t *testing.T) {
	var skip atomic.Bool

	tool := restoreTool(etcd.SpecSpec{Name: "cp1", AdvertisedAddresses: []netip.Addr{netip.MustParseAddr("172.20.0.2")}, Image: "etcd:1"}, &skip)
	want := []string{
		"/usr/local/bin/etcdutl", "snapshot", "restore", "/var/lib/etcd.snapshot", "--name=cp1", "--initial-cluster=cp1=https://172.20.0.2:2380",
		"--initial-advertise-peer-urls=https://172.20.0.2:2380", "--data-dir=/var/lib/etcd/restore",
		"--bump-revision=1000000000", "--mark-compacted",
	}

	for _, more := range [][]string{nil, {"--skip-hash-check"}} {
		got := slices.DeleteFunc(tool().(*container.Container).Argv, func(arg string) bool { return strings.HasPrefix(arg, "--initial-cluster-token=") })

		if diff := cmp.Diff(append(want, more...), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}

		skip.Store(true)
	}
}

func TestWriteSnapshot(t *testing.T) {
	lost := errors.New("the connection was lost")

	for _, tt := range []struct {
		name string
		in   io.Reader
		err  error
	}{
		{"whole", strings.NewReader("snapshot"), nil},
		{"empty", strings.NewReader(""), ErrEmptySnapshot},
		{"cut off", io.MultiReader(strings.NewReader("snap"), iotest.ErrReader(lost)), lost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "snapshot")

			if err := writeSnapshot(path, tt.in); !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}

			content, err := os.ReadFile(path)
			if tt.err == nil && (err != nil || string(content) != "snapshot") {
				t.Errorf("got %q, %v", content, err)
			}

			if tt.err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("got %q, %v; want no file", content, err)
			}
		})
	}
}
