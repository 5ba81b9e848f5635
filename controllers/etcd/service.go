// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
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
	// taken is the time of the bootstrap request that was carried out: if the data is ever lost, the same request must not
	// start a second cluster.
	taken time.Time
	// image is the image of the last service that was applied, "" while etcd waits.
	image string
	fetch func(ctx context.Context, namespace, image string) error
	// prepared is set once etcd may use the data directory.
	prepared bool
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
			controller.In[etcd.BootstrapRequestSpec](controller.Weak, "", etcd.BootstrapID),
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

	c.prepared, c.image = false, ""

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

	request, err := typed.Find[etcd.BootstrapRequestSpec](ctx, rt, "", etcd.BootstrapID)
	if err != nil {
		return err
	}

	return c.apply(ctx, spec, root, certs, request, log)
}

func (c *serviceController) apply(
	ctx context.Context, spec etcd.SpecSpec, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, request *resource.Typed[etcd.BootstrapRequestSpec], log *slog.Logger,
) error {
	dir := filepath.Join(c.root, DataDir)

	data, err := hasData(dir)
	if err != nil {
		return err
	}

	asked, err := c.asked(request)
	if err != nil {
		return err
	}

	start := decide(data, asked != nil)
	if start == StartWait {
		c.prepared = false

		return applied(c.supervisor.Apply(waitingService(spec)))
	}

	if !c.prepared {
		if start == StartNew {
			if err := clearDataDir(dir); err != nil {
				return err
			}

			log.Info("etcd starts a new cluster", "name", spec.Name, "addresses", spec.AdvertisedAddresses, "snapshot", asked.Recover)
		}

		c.prepared = true
	}

	if start == StartData {
		if request != nil {
			c.taken = request.Metadata().Created()
		}

		if err := forgetRequest(c.root); err != nil {
			return err
		}
	}

	service, err := etcdService(spec, root, certs)
	if err != nil {
		return err
	}

	// The fingerprint is of etcd alone, so that etcd is not restarted when it has data.
	m := &Runner{root: c.root, begins: start == StartNew, Etcd: service.Runner}

	if m.begins && asked.Recover {
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

// asked returns the request to start a cluster that was not carried out yet, of this boot or an earlier one.
func (c *serviceController) asked(request *resource.Typed[etcd.BootstrapRequestSpec]) (*etcd.BootstrapRequestSpec, error) {
	switch {
	case request == nil:
		return keptRequest(c.root)
	case request.Metadata().Created().Equal(c.taken):
		return nil, nil
	default:
		return request.TypedSpec(), nil
	}
}

// applied ignores the error that the machine is going down: then no service starts.
func applied(err error) error {
	if errors.Is(err, supervisor.ErrClosed) {
		return nil
	}

	return err
}

// waitingService is shown in the list of services until there is a request to start a cluster.
func waitingService(spec etcd.SpecSpec) supervisor.Service {
	return supervisor.Service{
		ID: ServiceID, Fingerprint: "waiting",
		Runner: waiting(fmt.Sprintf("etcd is waiting to join the cluster, if this node is the first node of the cluster, please run `talosctl bootstrap` against one of the following IPs: %v",
			spec.AdvertisedAddresses)),
	}
}

// waiting is a runner that never starts.
type waiting string

// Run implements supervisor.Runner.
func (w waiting) Run(ctx context.Context, run supervisor.Run) error {
	run.Preparing(string(w))
	<-ctx.Done()

	return nil
}

// etcdService is etcd in a container. Its certificates are not part of the fingerprint: etcd reads them again by itself.
func etcdService(spec etcd.SpecSpec, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec) (supervisor.Service, error) {
	command, err := settings.CommandLine(spec, settings.SelfCluster(spec), false)
	if err != nil {
		return supervisor.Service{}, err
	}

	check, err := healthCheck(root, certs)
	if err != nil {
		return supervisor.Service{}, err
	}

	argv := append([]string{"/usr/local/bin/etcd"}, command...)

	return supervisor.Service{
		ID: ServiceID,
		Runner: &container.Container{
			ID: ServiceID, Image: spec.Image, Argv: argv, UID: layout.UserEtcd, GID: layout.UserEtcd,
			Mounts: []specs.Mount{
				{Type: "bind", Source: DataDir, Destination: DataDir, Options: []string{"rbind", "rw"}},
				{Type: "bind", Source: PKIDir, Destination: PKIDir, Options: []string{"rbind", "ro"}},
			},
			Cgroup: cgroup.Etcd.Path, OOMScoreAdj: -998,
		},
		DependsOn:       []string{"cri"},
		Fingerprint:     strings.Join(append(argv, spec.Image, string(root.EtcdCA.Crt)), "\x00"),
		Health:          &supervisor.Health{Check: check, InitialDelay: 200 * time.Millisecond, Period: 20 * time.Second, Timeout: 15 * time.Second},
		RestartInterval: 2 * time.Second,
	}, nil
}
