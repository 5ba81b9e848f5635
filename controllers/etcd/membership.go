// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	serviceres "github.com/seed-59268b81/talos/resources/service"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

const (
	// movingPoll is the interval of the looks at a cluster that this machine joins, leaves or waits for; restingPoll is that of a member.
	movingPoll  = time.Second
	restingPoll = 10 * time.Second
)

// membershipController makes this machine a member of etcd, and publishes the members. It decides with a state machine, see membership.
// It runs by the clock, too: the members change without a resource.
type membershipController struct {
	root string
	// endpoint is this machine's etcd.
	endpoint string
	// withdraw destroys the request to start a cluster, which the API has written.
	withdraw func(ctx context.Context) error
	claim    func(ctx context.Context, client *clientv3.Client, holder string) (Lock, error)
	// accepts reports whether a port of the loopback accepts connections.
	accepts func(ctx context.Context, port int) bool

	state membership
	pool  etcdclient.Pool
	lock  claimed
	// returned is this machine's member when it has said that it is there.
	returned uint64
	// told is the last action in the log.
	told string
	// published are the members that have a resource.
	published map[string]etcd.MemberStatusSpec
}

// Name implements controller.Controller.
func (*membershipController) Name() string { return "etcd.MembershipController" }

// Inputs implements controller.Controller.
func (*membershipController) Inputs() []controller.Input {
	return append(slices.Concat(peerInputs(), claimInputs()),
		controller.In[block.VolumeMountStatusSpec](controller.Weak, "", mountID),
		controller.In[etcd.BootstrapRequestSpec](controller.Weak, "", etcd.BootstrapID),
		controller.In[etcd.LeaveRequestSpec](controller.Weak, "", etcd.LeaveID),
		fromconfig.Input(),
		controller.In[etcd.SpecSpec](controller.Weak, "", etcd.SpecID),
		controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
		controller.In[secrets.EtcdCertsSpec](controller.Weak, "", secrets.EtcdID),
		controller.In[serviceres.ServiceSpec](controller.Weak, "", ServiceID),
		controller.In[k8s.StaticPodStatusSpec](controller.Weak, ""),
		controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID),
	)
}

// Outputs implements controller.Controller.
func (*membershipController) Outputs() []controller.Output {
	return []controller.Output{
		controller.Out[etcd.MembershipStatusSpec](controller.Exclusive),
		controller.Out[etcd.MemberStatusSpec](controller.Exclusive),
	}
}

// Run implements controller.Controller.
func (c *membershipController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	defer func() {
		c.lock.release(context.WithoutCancel(ctx))
		_ = c.pool.Close() // it reads only
	}()

	timer := time.NewTimer(0)
	defer timer.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
		case <-timer.C:
		}

		var wait time.Duration

		if err := rt.Observe(ctx, func(ctx context.Context) (err error) {
			wait, err = c.round(ctx, rt, log)

			return err
		}); err != nil {
			return err
		}

		rt.ResetRestartBackoff()
		timer.Stop()

		if wait > 0 {
			timer.Reset(wait)
		}
	}
}

// round looks, decides and acts once. It returns when to look again; zero means not before an input changes.
func (c *membershipController) round(ctx context.Context, rt controller.Runtime, log *slog.Logger) (time.Duration, error) {
	rt.StartTrackingOutputs()

	wait, err := c.step(ctx, rt, log)
	if err != nil {
		return 0, err
	}

	return wait, rt.CleanupOutputs(ctx, resource.KindOf[etcd.MembershipStatusSpec](""), resource.KindOf[etcd.MemberStatusSpec](""))
}

func (c *membershipController) step(ctx context.Context, rt controller.Runtime, log *slog.Logger) (time.Duration, error) {
	var (
		spec  etcd.SpecSpec
		root  secrets.EtcdRootSpec
		certs secrets.EtcdCertsSpec
		clock timeres.StatusSpec
		mount block.VolumeMountStatusSpec
	)

	controlPlane := typed.Read(ctx, rt, secrets.EtcdRootID, &root)

	ok, err := typed.All(
		controlPlane,
		typed.Read(ctx, rt, secrets.EtcdID, &certs),
		typed.Read(ctx, rt, etcd.SpecID, &spec),
		typed.Read(ctx, rt, mountID, &mount),
		typed.Read(ctx, rt, timeres.StatusID, &clock),
	)
	if err != nil || !ok || !clock.Usable() {
		c.lock.release(ctx)

		if err == nil && controlPlane.OK {
			err = c.remain(ctx, rt)
		}

		return 0, err
	}

	c.pool.Use(root, certs)

	s, err := c.look(ctx, rt, spec)
	if err != nil {
		return 0, err
	}

	var p plan

	c.state, p = c.state.next(s, time.Now())

	if err := c.publish(ctx, rt, s, p, nil); err != nil {
		return 0, err
	}

	return c.act(ctx, rt, log, s, p, func(urls ...string) (*clientv3.Client, error) {
		return etcdclient.New(context.WithoutCancel(ctx), root, certs, urls...) // until the lock is released
	})
}

// remain keeps the status of a member while an input is missing: a machine that has lost its address for a moment is a member as before, and
// what protects the quorum must know that.
func (c *membershipController) remain(ctx context.Context, rt controller.Runtime) error {
	held, err := typed.Find[etcd.MembershipStatusSpec](ctx, rt, "", etcd.MembershipID)
	if err != nil || held == nil || held.TypedSpec().MemberID == "" {
		return err
	}

	spec := *held.TypedSpec()
	spec.WaitsFor = "the time, and etcd's address, certificates and volume"

	if err := typed.Set(ctx, rt, "", etcd.MembershipID, spec); err != nil {
		return err
	}

	return c.publishMembers(ctx, rt, nil)
}

// serves reports whether the kubelet has an API server, or one still accepts connections: the kubelet forgets a static pod as soon as its file
// is gone, while its process has up to half a minute to end.
func (c *membershipController) serves(ctx context.Context, r state.Reader) (bool, error) {
	pods, err := typed.List[k8s.StaticPodStatusSpec](ctx, r, "")
	if err != nil {
		return false, err
	}

	if slices.ContainsFunc(pods, func(p *resource.Typed[k8s.StaticPodStatusSpec]) bool {
		return strings.HasPrefix(p.Metadata().ID(), k8s.StaticPodStatusOf(k8s.APIServerID, ""))
	}) {
		return true, nil
	}

	cfg, err := fromconfig.Active(ctx, r)
	if err != nil || cfg == nil {
		return false, err
	}

	return c.accepts(ctx, cfg.APIServerPort()), nil
}

// accepts reports whether a port of the loopback accepts connections.
func accepts(ctx context.Context, port int) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}

	_ = conn.Close() // nothing was sent

	return true
}

// look sees the cluster and then the disk.
func (c *membershipController) look(ctx context.Context, rt controller.Runtime, spec etcd.SpecSpec) (sight, error) {
	var (
		s = sight{
			name: spec.Name, peerURLs: strings.Split(settings.URLs(spec.AdvertisedAddresses, peerPort), ","),
			locked: c.lock.held(), obstacle: c.lock.obstacle,
		}
		service serviceres.ServiceSpec
		leave   etcd.LeaveRequestSpec
		err     error
	)

	f := typed.Read(ctx, rt, ServiceID, &service)
	if f.Err != nil {
		return s, f.Err
	}

	left := typed.Read(ctx, rt, etcd.LeaveID, &leave)
	if s.leave = left.OK; left.Err != nil {
		return s, left.Err
	}

	if s.leave {
		if s.serves, err = c.serves(ctx, rt); err != nil {
			return s, err
		}
	}

	if s.peers, err = peers(ctx, rt, c.root); err != nil {
		return s, err
	}

	var first, rest []string
	if rest = s.peers; service.Running {
		first = []string{c.endpoint}
	}

	cluster, err := c.pool.Look(ctx, first, rest)
	if err == nil && s.locked {
		cluster, err = etcdclient.WithoutAbsent(ctx, c.lock.client, cluster)
	}

	if err != nil {
		s.silence = err
	} else {
		s.cluster = &cluster
		rest = slices.Concat(rest, clientURLs(cluster))
	}

	if err := c.pool.Keep(append(rest, c.endpoint)); err != nil {
		return s, fmt.Errorf("close connections to etcd: %w", err)
	}

	if err := c.lookAtData(&s); err != nil {
		return s, err
	}

	kept, err := keptRequest(c.root)
	if err != nil {
		return s, err
	}

	s.asked, s.restore = kept != nil, kept != nil && kept.Recover
	s.claims, err = readClaims(ctx, rt)

	return s, err
}

func (c *membershipController) lookAtData(s *sight) (err error) {
	dir := filepath.Join(c.root, DataDir)

	if s.hasData, err = hasData(dir); err == nil && s.hasData {
		s.data, s.unreadable = readIdentity(dir)
	}

	return err
}

// publish writes the resources.
func (c *membershipController) publish(ctx context.Context, rt controller.Runtime, s sight, p plan, err error) error {
	if err == nil {
		err = p.err
	}

	spec := etcd.MembershipStatusSpec{Intent: p.intent, Step: p.step, WaitsFor: p.waits, InitialCluster: p.initialCluster}
	if err != nil {
		spec.Error = err.Error()
	}

	if s.data != (identity{}) {
		spec.MemberID, spec.ClusterID = hexID(s.data.member), hexID(s.data.cluster)
	}

	if err := typed.Set(ctx, rt, "", etcd.MembershipID, spec); err != nil {
		return err
	}

	return c.publishMembers(ctx, rt, s.cluster)
}

// publishMembers writes the members of the cluster; without one, those that were seen last, as not healthy.
func (c *membershipController) publishMembers(ctx context.Context, rt controller.Runtime, cluster *quorum.Cluster) error {
	if cluster == nil {
		for id, m := range c.published {
			m.Healthy, m.Leader = false, false
			c.published[id] = m
		}
	} else {
		c.published = map[string]etcd.MemberStatusSpec{}

		for _, m := range cluster.Members {
			c.published[hexID(m.ID)] = etcd.MemberStatusSpec{
				Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.Learner, Healthy: m.Healthy, Leader: m.Leader,
			}
		}
	}

	for id, m := range c.published {
		if err := typed.Set(ctx, rt, "", id, m); err != nil {
			return err
		}
	}

	return nil
}
