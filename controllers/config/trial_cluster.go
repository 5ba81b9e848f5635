// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/trial"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// The conditions of a trial that only asking answers.
const (
	gatewayCondition   = "gateway"
	endpointCondition  = "endpoint"
	apiServerCondition = "apiserver"
)

// serverPatience is how long an API server may take to answer.
const serverPatience = 3 * time.Second

// addresses are addresses of API servers: that of the configuration's endpoint, those that the machine may use, and those of them that are on
// other machines.
type addresses struct {
	endpoint    string
	all, others []string
}

// answers is who answered. The zero value is before anyone was asked.
type answers struct {
	asked                     bool
	endpoint, server, another bool
	// path is set when a packet came back from a machine whose API server may be down.
	path bool
	// silent is set when a default gateway does not answer on its network.
	silent bool
}

// before returns the names of the conditions that hold before a change, of which conditions are those that are seen without asking.
func (a answers) before(conditions []trial.Condition) []string {
	var names []string

	for _, c := range conditions {
		if c.Met && !(a.silent && c.Name == gatewayCondition) {
			names = append(names, c.Name)
		}
	}

	if a.endpoint {
		names = append(names, endpointCondition)
	}

	if a.server {
		names = append(names, apiServerCondition)
	}

	return names
}

// apiServers asks the API servers of the cluster, before a change and while it is on trial. What the machine shows of the cluster stays as it
// was last seen when no API server can be reached any more, and so does not tell.
type apiServers struct {
	dial func(ctx context.Context, address string) error
	port func(ctx context.Context, address string) error

	mu   sync.Mutex
	list addresses
	last answers
}

func newAPIServers() *apiServers { return &apiServers{dial: handshake, port: connect} }

// handshake reports whether a server of TLS answers. Nothing is sent to it, and nothing that it says is believed.
func handshake(ctx context.Context, address string) error {
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}

	return conn.Close()
}

func connect(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}

	return conn.Close()
}

// know sets the API servers.
func (s *apiServers) know(list addresses) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.list = list
}

// forget forgets who answered.
func (s *apiServers) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.last = answers{}
}

// ask asks all API servers at the same time, and keeps who answered, unless the question was given up.
func (s *apiServers) ask(asked context.Context) answers {
	s.mu.Lock()
	list := s.list
	s.mu.Unlock()

	if list.endpoint == "" {
		return answers{}
	}

	ctx, cancel := context.WithTimeout(asked, serverPatience)
	defer cancel()

	addresses := append([]string{list.endpoint}, list.all...)
	slices.Sort(addresses)

	var (
		group guard.Group
		mu    sync.Mutex
		now   = answers{asked: true}
	)

	for _, address := range slices.Compact(addresses) {
		group.Go(func() error {
			err := s.dial(ctx, address)
			other := slices.Contains(list.others, address)
			path := err == nil || other && s.reached(ctx, address, err)

			mu.Lock()
			defer mu.Unlock()

			now.endpoint = now.endpoint || err == nil && address == list.endpoint
			now.server = now.server || err == nil && slices.Contains(list.all, address)
			now.another = now.another || err == nil && other
			now.path = now.path || path && other

			return nil
		})
	}

	if err := group.Wait(); err != nil {
		return answers{}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if asked.Err() != nil {
		return answers{}
	}

	s.last = now

	return now
}

// askBefore asks the cluster and the gateways before a change. A gateway that is silent already, such as one of two, must not revert each change.
func (c *Controller) askBefore(ctx context.Context) answers {
	var (
		group  guard.Group
		silent bool
	)

	group.Go(func() error {
		silent = c.gateways.anySilent(ctx)

		return nil
	})

	out := c.cluster.ask(ctx)
	if err := group.Wait(); err == nil {
		out.silent = silent
	}

	return out
}

// reached reports whether the machine of an API server that does not answer is there: it refuses the connection, or its apid accepts one.
func (s *apiServers) reached(ctx context.Context, address string, err error) bool {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}

	host, _, splitErr := net.SplitHostPort(address)
	if splitErr != nil {
		return false
	}

	// The time of the first attempt is up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), serverPatience)
	defer cancel()

	err = s.port(ctx, net.JoinHostPort(host, strconv.Itoa(contract.APIPort)))

	return err == nil || errors.Is(err, syscall.ECONNREFUSED)
}

// conditions returns the conditions of the cluster, or none before it was asked.
func (s *apiServers) conditions() []trial.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()

	if !s.last.asked {
		return nil
	}

	return []trial.Condition{
		{Name: endpointCondition, Kind: trial.Cluster, Met: s.last.endpoint, Why: "the cluster's endpoint " + s.list.endpoint + " does not answer"},
		{Name: apiServerCondition, Kind: trial.Cluster, Met: s.last.server, Why: "no API server of the cluster answers"},
	}
}

// lost reports whether the API servers of all other machines are gone, so that the cluster is lost for its other nodes, too. A machine whose
// own configuration cuts it off sees the same, but for the machines: one of those must be there, unless a version of the system is
// tried, whose network is that of the version before.
func (s *apiServers) lost(entry bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.last.asked && len(s.list.others) > 0 && !s.last.another && !s.last.endpoint && (s.last.path || entry)
}

// serversOf returns the API servers that a machine knows. What answers at the endpoint of a control plane may be that machine itself, behind a
// load balancer.
func serversOf(ctx context.Context, r state.Reader, controlPlane bool) (addresses, error) {
	var (
		active configres.MachineConfigSpec
		known  k8s.KubePrismEndpointsSpec
		own    network.NodeAddressSpec
		out    addresses
	)

	configured := typed.Read(ctx, r, configres.ActiveID, &active)

	published, err := typed.List[k8s.EndpointSpec](ctx, r, "")
	if err = errors.Join(
		err, configured.Err, typed.Read(ctx, r, k8s.KubePrismEndpointsID, &known).Err, typed.Read(ctx, r, network.NodeAddressCurrentID, &own).Err,
	); err != nil || !configured.OK || !active.View().Complete() {
		return addresses{}, err
	}

	var machines []netip.Addr

	for _, p := range published {
		if p.Metadata().ID() != k8s.EndpointControlPlane {
			machines = append(machines, p.TypedSpec().Addresses...)
		}
	}

	endpoint := active.View().Endpoint()
	if endpoint.Hostname() == "" {
		return addresses{}, nil
	}

	port := endpoint.Port()
	if port == "" {
		port = "443"
	}

	out.endpoint = net.JoinHostPort(endpoint.Hostname(), port)

	for _, e := range known.Endpoints {
		address := net.JoinHostPort(e.Host, strconv.FormatUint(uint64(e.Port), 10))
		out.all = append(out.all, address)

		ip, _ := netip.ParseAddr(e.Host)
		if !ip.IsLoopback() && !slices.Contains(own.IPs(), ip) && (!controlPlane || slices.Contains(machines, ip)) {
			out.others = append(out.others, address)
		}
	}

	return out, nil
}
