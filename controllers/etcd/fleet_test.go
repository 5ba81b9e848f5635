// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	secretsctl "github.com/seed-59268b81/talos/controllers/secrets"
	servicectl "github.com/seed-59268b81/talos/controllers/service"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// fleetPatience is how long a machine may take to reach a step: etcd is slow on a busy computer.
const fleetPatience = 2 * time.Minute

// fleet is control planes that run this package's controllers with a real etcd, each at a loopback address of its own.
type fleet struct {
	*testing.T

	etcd     string
	config   []byte
	machines map[int]*testMachine
}

// testMachine is a control plane. Its disk survives its lives.
type testMachine struct {
	*controllertest.Node

	fleet *fleet
	name  string
	at    netip.Addr
	root  string
	life  *life
	sup   *supervisor.Supervisor
	// cut: the power is cut, so nothing is stopped in order.
	cut *atomic.Bool
}

// life is a part of a test, with cleanups of its own.
type life struct {
	testing.TB

	mu   sync.Mutex
	ends []func()
}

func (l *life) Cleanup(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.ends = append(l.ends, f)
}

func (l *life) end() {
	l.mu.Lock()
	ends := l.ends
	l.ends = nil
	l.mu.Unlock()

	for _, f := range slices.Backward(ends) {
		f()
	}
}

// newFleet returns nil in the process that only starts the test in namespaces of its own.
func newFleet(t *testing.T) *fleet {
	t.Helper()

	program := hosttest.Built(t, "etcd")

	if testing.Short() {
		t.Skip("runs a cluster of etcd")
	}

	if !nstest.Isolate(t) {
		return nil
	}

	if out, err := exec.Command(hosttest.Need(t, "ip"), "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("loopback: %v: %s", err, out)
	}

	out, err := generate.New("test", "https://127.0.0.1:6443", "", generate.Options{})
	if err != nil {
		t.Fatal(err)
	}

	return &fleet{T: t, etcd: program, config: out.ControlPlane, machines: map[int]*testMachine{}}
}

// newCluster returns a fleet whose first machines are members of one cluster; nil as newFleet.
func newCluster(t *testing.T, members int) *fleet {
	t.Helper()

	f := newFleet(t)
	if f == nil {
		return nil
	}

	f.boot(1).bootstrap()

	for n := 1; n <= members; n++ {
		if n > 1 {
			f.boot(n)
		}

		f.machines[n].untilMember()
	}

	return f
}

// boot boots a machine, with the disk that it has.
func (f *fleet) boot(n int) *testMachine {
	f.Helper()

	m := f.machines[n]
	if m == nil {
		m = &testMachine{fleet: f, name: fmt.Sprintf("cp-%d", n), at: netip.AddrFrom4([4]byte{127, 0, 0, byte(10 + n)}), root: controllertest.Root(f)}
		f.machines[n] = m
	}

	m.life, m.cut = &life{TB: f}, new(atomic.Bool)
	f.Cleanup(m.life.end)

	ctx, cancel := context.WithCancel(context.Background())
	m.sup = supervisor.New(ctx, slog.New(slog.DiscardHandler), quiet{}, nil)
	m.life.Cleanup(cancel)
	m.life.Cleanup(m.stopServices)

	if err := m.sup.Apply(supervisor.Service{ID: "cri", Runner: supervisor.Func(func(ctx context.Context, _ supervisor.Run) error {
		<-ctx.Done()

		return nil
	})}); err != nil {
		f.Fatal(err)
	}

	st := memory.New()
	own := Controllers(Deps{Supervisor: m.sup, Root: m.root, Address: m.at, Container: m.container, State: st})

	for _, c := range own {
		if c, ok := c.(*membershipController); ok {
			c.claim = m.claim
		}
	}

	m.Node = controllertest.StartOn(m.life, st, slices.Concat(servicectl.Controllers(m.sup), secretsctl.Controllers(), own)...)
	m.ready()

	return m
}

// ready sets the resources of a control plane after its boot.
func (m *testMachine) ready() {
	m.Configure(m.fleet.config)
	m.Hostname(m.name)

	controllertest.Set(m.Node, configres.MachineTypeID, configres.MachineTypeSpec{MachineType: configres.TypeControlPlane})

	for _, id := range []string{
		network.NodeAddressDefaultID, network.NodeAddressCurrentID, network.NodeAddressRoutedID, network.NodeAddressAccumulativeID,
	} {
		spec := network.NodeAddressSpec{Addresses: []netip.Prefix{netip.PrefixFrom(m.at, 8)}}

		controllertest.Set(m.Node, id, spec)
		controllertest.Set(m.Node, network.FilteredNodeAddressID(id, network.NodeAddressFilterNoK8s), spec)
	}

	controllertest.Set(m.Node, network.StatusID, network.StatusSpec{AddressReady: true, ConnectivityReady: true, HostnameReady: true, EtcFilesReady: true})
	controllertest.Set(m.Node, timeres.StatusID, timeres.StatusSpec{Synced: true})
	controllertest.Set(m.Node, mountID, block.VolumeMountStatusSpec{Target: "/var"})

	var all k8s.EndpointSpec
	for n := range 6 {
		all.Addresses = append(all.Addresses, netip.AddrFrom4([4]byte{127, 0, 0, byte(11 + n)}))
	}

	controllertest.Set(m.Node, "discovery", all)
}

// quiet drops the logs of services.
type quiet struct{}

func (quiet) Append(string, []byte) {}

// container runs the program of a container.
func (m *testMachine) container(c *container.Container) supervisor.Runner {
	cut := m.cut

	return supervisor.Func(func(ctx context.Context, run supervisor.Run) error {
		argv := slices.Clone(c.Argv)
		for i := range argv {
			argv[i] = strings.NewReplacer(
				"0.0.0.0", m.at.String(), "[::]", m.at.String(),
				DataDir, filepath.Join(m.root, DataDir), PKIDir, filepath.Join(m.root, PKIDir),
			).Replace(argv[i])
		}

		//program:built etcd
		cmd := exec.Command(m.fleet.etcd, append(argv[1:], "--unsafe-no-fsync", "--log-level=error")...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmd.Stderr = run.Log

		if err := cmd.Start(); err != nil {
			return err
		}

		stop := context.AfterFunc(ctx, func() {
			signal := syscall.SIGTERM
			if cut.Load() {
				signal = syscall.SIGKILL
			}

			_ = cmd.Process.Signal(signal) // it may have ended
		})
		defer stop()

		return cmd.Wait()
	})
}

// claim takes the real lock. A machine without power does not release it.
func (m *testMachine) claim(ctx context.Context, client *clientv3.Client, holder string) (Lock, error) {
	held, err := claimMembers(ctx, client, holder)
	if err != nil {
		return nil, err
	}

	return cutLock{held, m.cut}, nil
}

type cutLock struct {
	Lock
	cut *atomic.Bool
}

func (l cutLock) Release(ctx context.Context) error {
	if l.cut.Load() {
		return nil
	}

	return l.Lock.Release(ctx)
}

func (m *testMachine) stopServices() {
	for _, svc := range m.sup.Services() {
		if err := m.sup.Remove(context.Background(), svc.ID); err != nil {
			m.fleet.Error(err)
		}
	}
}

// powerCut ends the machine at once. off ends it in order.
func (m *testMachine) powerCut() {
	m.cut.Store(true)
	m.off()
}

func (m *testMachine) off() { m.life.end() }

// wipe erases the disk of a machine that is off.
func (m *testMachine) wipe() {
	m.root = controllertest.Root(m.fleet)
}

// bootstrap asks the machine to start a cluster.
func (m *testMachine) bootstrap() {
	m.fleet.Helper()
	controllertest.Wait[secrets.EtcdCertsSpec](m.Node, secrets.EtcdID, nil)

	if err := RequestBootstrap(m.fleet.Context(), m.State, m.root, etcd.BootstrapRequestSpec{}); err != nil {
		m.fleet.Fatal(err)
	}
}

// until waits for a status of the membership.
func (m *testMachine) until(what string, condition func(etcd.MembershipStatusSpec) bool) etcd.MembershipStatusSpec {
	m.fleet.Helper()

	ctx, cancel := context.WithTimeout(m.fleet.Context(), fleetPatience)
	defer cancel()

	got, err := typed.WatchFor(ctx, m.State, "", etcd.MembershipID, func(s *resource.Typed[etcd.MembershipStatusSpec]) bool {
		return condition(*s.TypedSpec())
	})
	if err != nil {
		last, _ := typed.Find[etcd.MembershipStatusSpec](m.fleet.Context(), m.State, "", etcd.MembershipID)
		service, _ := m.sup.Status(ServiceID)
		m.fleet.Fatalf("%s: wait until %s: %v; it is %+v, service %+v", m.name, what, err, last.TypedSpec(), service)
	}

	return *got.TypedSpec()
}

func (m *testMachine) untilMember() etcd.MembershipStatusSpec {
	m.fleet.Helper()

	return m.until("it is a member", func(s etcd.MembershipStatusSpec) bool {
		return s.Step == etcd.StepMember && s.WaitsFor == "" && s.MemberID != ""
	})
}

func (m *testMachine) untilStep(step etcd.Step) etcd.MembershipStatusSpec {
	m.fleet.Helper()

	return m.until(string(step), func(s etcd.MembershipStatusSpec) bool { return s.Step == step })
}

// client connects to the members of some machines.
func (f *fleet) client(on ...int) *clientv3.Client {
	f.Helper()

	var urls []string
	for _, n := range on {
		urls = append(urls, settings.URL(f.machines[n].at, settings.ClientPort))
	}

	m := f.machines[on[0]]
	root := controllertest.Wait[secrets.EtcdRootSpec](m.Node, secrets.EtcdRootID, nil)
	certs := controllertest.Wait[secrets.EtcdCertsSpec](m.Node, secrets.EtcdID, nil)

	client, err := etcdclient.New(context.Background(), root, certs, urls...)
	if err != nil {
		f.Fatal(err)
	}

	f.Cleanup(func() { client.Close() })

	return client
}

// members waits until the members are these machines, all healthy, with a vote.
func (f *fleet) members(seenBy int, want ...int) quorum.Cluster {
	f.Helper()

	m := f.machines[seenBy]
	root := controllertest.Wait[secrets.EtcdRootSpec](m.Node, secrets.EtcdRootID, nil)
	certs := controllertest.Wait[secrets.EtcdCertsSpec](m.Node, secrets.EtcdID, nil)

	var pool etcdclient.Pool

	pool.Use(root, certs)
	defer pool.Close()

	var names []string
	for _, n := range want {
		names = append(names, f.machines[n].name)
	}

	for deadline := time.Now().Add(fleetPatience); ; time.Sleep(100 * time.Millisecond) {
		cluster, err := pool.Look(f.Context(), []string{settings.URL(m.at, settings.ClientPort)}, nil)

		var got []string

		for _, m := range cluster.Members {
			if m.Healthy && !m.Learner {
				got = append(got, m.Name)
			} else {
				got = append(got, "not "+m.String())
			}
		}

		slices.Sort(got)

		if err == nil && slices.Equal(got, names) {
			return cluster
		}

		if time.Now().After(deadline) {
			f.Fatalf("members: got %q, %v, want %q", got, err, names)
		}
	}
}

// hasDiscarded reports whether the machine keeps the data of a removed member.
func (m *testMachine) hasDiscarded() bool {
	_, err := os.Stat(filepath.Join(m.root, discardedDir))

	return err == nil
}
