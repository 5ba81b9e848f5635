// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
)

// Supervisor is the part of the supervisor that the controllers use; tests have their own.
type Supervisor interface {
	Apply(svc supervisor.Service) error
	Remove(ctx context.Context, id string) error
}

// serviceController runs etcd when all its inputs exist.
type serviceController struct {
	supervisor Supervisor
	root       string
	// image is the image of the last service that was applied, "" while etcd waits.
	image string
	fetch func(ctx context.Context, namespace, image string) error
	// initialCluster has the members with which etcd was started as a new member, since the service was last stopped. etcd ignores it
	// once it has data, but another one would restart it.
	initialCluster string
	// joining is set while the member has no vote.
	joining   atomic.Bool
	probe     probe
	address   netip.Addr
	container func(*container.Container) supervisor.Runner
	// skipHashCheck is that of the request for a start from a snapshot. Each attempt reads it again.
	skipHashCheck atomic.Bool
}

func (*serviceController) name() string { return "etcd.ServiceController" }

func (c *serviceController) controller() controller.Controller {
	return &controller.Reconciler{
		ControllerName: c.name(),
		Reads: append(volume.Inputs(),
			controller.In[etcd.SpecSpec](controller.Weak, "", etcd.SpecID),
			controller.In[etcd.PKIStatusSpec](controller.Weak, "", etcd.PKIID),
			controller.In[etcd.MembershipStatusSpec](controller.Weak, "", etcd.MembershipID),
			controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
			controller.In[secrets.EtcdCertsSpec](controller.Weak, "", secrets.EtcdID),
			controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID),
		),
		Writes:    []controller.Output{volume.Output()},
		Reconcile: c.reconcile,
	}
}

func (c *serviceController) stop(ctx context.Context) error {
	if err := c.supervisor.Remove(ctx, ServiceID); err != nil {
		return err
	}

	c.initialCluster, c.image = "", ""

	return nil
}

func (c *serviceController) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var (
		spec  etcd.SpecSpec
		root  secrets.EtcdRootSpec
		pki   etcd.PKIStatusSpec
		certs secrets.EtcdCertsSpec
		clock timeres.StatusSpec
	)

	controlPlane := typed.Read(ctx, rt, secrets.EtcdRootID, &root)
	if controlPlane.Err != nil {
		return controlPlane.Err
	}

	if !controlPlane.OK {
		return c.stop(ctx) // no control plane, or no configuration any more
	}

	mounted, err := volume.Request(ctx, rt, c.name(), ServiceID, block.VolumeEphemeral, c.stop)
	if err != nil || mounted == "" {
		return err
	}

	ok, err := typed.All(
		typed.Read(ctx, rt, etcd.SpecID, &spec),
		typed.Read(ctx, rt, etcd.PKIID, &pki),
		typed.Read(ctx, rt, secrets.EtcdID, &certs),
		typed.Read(ctx, rt, timeres.StatusID, &clock),
	)
	if err != nil || !ok || !clock.Usable() {
		return err
	}

	var status etcd.MembershipStatusSpec
	if f := typed.Read(ctx, rt, etcd.MembershipID, &status); f.Err != nil {
		return f.Err
	}

	if status.Step == etcd.StepDiscarding {
		if err := c.discard(ctx, status, log); err != nil {
			return err
		}
	}

	return c.apply(ctx, spec, root, certs, status, log)
}

// discard stops etcd and sets its data aside, which the cluster has confirmed to be that of a removed member.
func (c *serviceController) discard(ctx context.Context, status etcd.MembershipStatusSpec, log *slog.Logger) error {
	held, err := readIdentity(filepath.Join(c.root, DataDir))
	if err != nil || hexID(held.member) != status.MemberID || hexID(held.cluster) != status.ClusterID {
		return err // it was done already
	}

	log.InfoContext(ctx, "etcd: the member was removed from the cluster, its data is set aside", "member", status.MemberID)

	if err := c.stop(ctx); err != nil {
		return err
	}

	if err := discard(c.root, held); err != nil || status.Intent != etcd.IntentLeave {
		return err
	}

	return forgetDiscarded(c.root)
}

func (c *serviceController) apply(
	ctx context.Context, spec etcd.SpecSpec, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec,
	status etcd.MembershipStatusSpec, log *slog.Logger,
) error {
	dir := filepath.Join(c.root, DataDir)

	data, err := hasData(dir)
	if err != nil {
		return err
	}

	asked, err := keptRequest(c.root)
	if err != nil {
		return err
	}

	begins := asked != nil && status.Intent == etcd.IntentBootstrap && status.Step == etcd.StepStarting

	start := decide(data, begins, status.Step == etcd.StepStarting && status.InitialCluster != "")
	if start == StartWait {
		c.initialCluster = ""

		return applied(c.supervisor.Apply(waitingService(spec, status)))
	}

	c.joining.Store(status.Intent == etcd.IntentJoin || status.Intent == etcd.IntentReplace)

	switch start {
	case StartNew:
		c.initialCluster = ""

		if c.image == "" {
			log.Info("etcd starts a new cluster", "name", spec.Name, "addresses", spec.AdvertisedAddresses, "snapshot", asked.Recover)
		}
	case StartJoin:
		if c.initialCluster != status.InitialCluster {
			log.Info("etcd starts as a new member", "name", spec.Name, "addresses", spec.AdvertisedAddresses, "members", status.InitialCluster)
		}

		c.initialCluster = status.InitialCluster
	case StartData:
		if err := forgetRequest(c.root); err != nil {
			return err
		}
	case StartWait:
	}

	service, err := c.service(spec, root, certs, start == StartNew)
	if err != nil {
		return err
	}

	// The fingerprint is of etcd alone, so that etcd is not restarted when it has data.
	m := &Runner{root: c.root, begins: start != StartData, Etcd: service.Runner}

	if start == StartNew && asked.Recover {
		c.skipHashCheck.Store(asked.SkipHashCheck)
		m.tool = restoreTool(spec, &c.skipHashCheck)
	}

	service.Runner = m

	// A running member is not stopped for an image that cannot be pulled.
	if c.fetch != nil && c.image != "" && c.image != spec.Image {
		if err := c.fetch(ctx, container.NamespaceSystem, spec.Image); err != nil {
			return fmt.Errorf("etcd goes on with image %s: %w", c.image, err) // explain reads this
		}
	}

	if err := applied(c.supervisor.Apply(service)); err != nil {
		return err
	}

	c.image = spec.Image

	return nil
}

// applied ignores the error that the machine is going down: then no service starts.
func applied(err error) error {
	if errors.Is(err, supervisor.ErrClosed) {
		return nil
	}

	return err
}

// waitingService is shown in the list of services until etcd can start.
func waitingService(spec etcd.SpecSpec, status etcd.MembershipStatusSpec) supervisor.Service {
	text := fmt.Sprintf("etcd is waiting to join the cluster, if this node is the first node of the cluster, please run `talosctl bootstrap` against one of the following IPs: %v",
		spec.AdvertisedAddresses)

	switch {
	case status.Intent == etcd.IntentLeave:
		text = "etcd has left the cluster, and joins it again after a reboot"
	case status.Intent == etcd.IntentJoin, status.Intent == etcd.IntentReplace:
		text = fmt.Sprintf("etcd is about to %s: %s", status.Intent, status.Step)
		if status.WaitsFor != "" {
			text += ", waits for " + status.WaitsFor
		}
	}

	if status.Error != "" {
		text += ": " + status.Error
	}

	return supervisor.Service{ID: ServiceID, Fingerprint: "waiting\x00" + text, Runner: waiting(text)}
}

// waiting is a runner that never starts.
type waiting string

// Run implements supervisor.Runner.
func (w waiting) Run(ctx context.Context, run supervisor.Run) error {
	run.Preparing(string(w))
	<-ctx.Done()

	return nil
}

// service returns etcd in a container. Its certificates are not part of the fingerprint: etcd reads them again by itself.
func (c *serviceController) service(
	spec etcd.SpecSpec, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, newCluster bool,
) (supervisor.Service, error) {
	initial := cmp.Or(c.initialCluster, settings.SelfCluster(spec))

	command, err := settings.CommandLine(spec, initial, c.initialCluster != "")
	if err != nil {
		return supervisor.Service{}, err
	}

	if err := c.probe.use(root, certs); err != nil {
		return supervisor.Service{}, err
	}

	at := settings.URL(c.address, healthPort)
	health := &supervisor.Health{
		Check: c.probe.check(at+"/health", &c.joining), Live: c.probe.live(at),
		InitialDelay: 200 * time.Millisecond, Period: 20 * time.Second, Timeout: 15 * time.Second, Failures: 6,
	}

	argv := append([]string{"/usr/local/bin/etcd"}, command...)
	fingerprint := strings.Join(append(slices.Clip(argv), spec.Image, string(root.EtcdCA.Crt)), "\x00")

	// etcd ignores the token once it has data, so the token is not in the fingerprint.
	if _, given := spec.ExtraArgs[settings.ClusterToken]; newCluster && !given {
		argv = append(argv, newToken())
	}

	etcd := &container.Container{
		ID: ServiceID, Image: spec.Image, Argv: argv, UID: layout.UserEtcd, GID: layout.UserEtcd,
		Mounts: []specs.Mount{
			{Type: "bind", Source: DataDir, Destination: DataDir, Options: []string{"rbind", "rw"}},
			{Type: "bind", Source: PKIDir, Destination: PKIDir, Options: []string{"rbind", "ro"}},
		},
		Cgroup: cgroup.Etcd.Path, OOMScoreAdj: -998,
	}

	return supervisor.Service{
		ID:              ServiceID,
		Runner:          c.runner(etcd),
		DependsOn:       []string{"cri"},
		Fingerprint:     fingerprint,
		Health:          health,
		RestartInterval: 2 * time.Second,
	}, nil
}

// newToken returns a flag that makes a new cluster differ from every other one. etcd derives the identities of a cluster and of its first member
// from the token and the member's addresses. Without it, a cluster that is started again on the same machine would be taken for the former one
// by members that were off or cut off meanwhile: they would write their former log into it.
func newToken() string { return "--" + settings.ClusterToken + "=" + rand.Text() }

// runner returns what runs a container.
func (c *serviceController) runner(of *container.Container) supervisor.Runner {
	if c.container != nil {
		return c.container(of)
	}

	return of
}
