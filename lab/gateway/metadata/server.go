// SPDX-License-Identifier: Apache-2.0

// Package metadata simulates the metadata servers of clouds: the HTTP service from which a machine reads its
// configuration, host name and network (on most clouds at 169.254.169.254).
//
// A platform is a value in a table: the addresses of its server, the requests that it refuses, and a function that
// renders an Instance to a tree of documents. Paths, headers, tokens and formats follow the clouds' public
// documentation. Documents that machines do not read when they boot (credentials, signed identity, maintenance events)
// are left out and answered with 404.
//
// OpenNebula and VMware have no metadata server: they pass the configuration on a disk or through the hypervisor.
package metadata

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// platform is a cloud's metadata server.
type platform struct {
	name string
	// addrs are the server's addresses besides the gateway's own. names are its DNS names, which resolve to addrs, or
	// to the gateway if there are none.
	addrs []netip.Addr
	names []string
	// token is the service for the tokens that requests must have.
	token *tokenService
	// refuse returns an HTTP status other than 0 for a request that the cloud would refuse.
	refuse func(*http.Request) (status int, why string)
	// render returns the documents of an instance.
	render func(*Instance) tree
	// lists makes the server list the names below a path, as EC2's does.
	lists bool
	// serve answers instead of the tree if it returns true.
	serve func(w http.ResponseWriter, r *http.Request, in *Instance, docs tree) bool
}

// platforms are all clouds with a metadata server, by name.
var platforms = []*platform{
	&akamai, &alibabacloud, &aws, &azure, &cloudstack, &digitalOcean, &equinixMetal, &exoscale, &gcp, &hcloud, &nocloud,
	&openstack, &oracle, &scaleway, &upcloud, &vultr,
}

// Platforms returns the names of the clouds that have a metadata server.
func Platforms() []string {
	var names []string
	for _, p := range platforms {
		names = append(names, p.name)
	}

	return names
}

func find(name string) *platform {
	if name == Metal {
		return &metal
	}

	i := slices.IndexFunc(platforms, func(p *platform) bool { return p.name == name })
	if i < 0 {
		return nil
	}

	return platforms[i]
}

// Addresses returns the addresses of a cloud's metadata server. On a cloud without any, it is at the network's router
// or DHCP server.
func Addresses(cloud string) []netip.Addr {
	if p := find(cloud); p != nil {
		return p.addrs
	}

	return nil
}

// Names returns the host names of a cloud's metadata server.
func Names(cloud string) []string {
	if p := find(cloud); p != nil {
		return p.names
	}

	return nil
}

// IsAddress reports whether an address is that of a cloud's metadata server.
func IsAddress(addr netip.Addr) bool {
	return slices.ContainsFunc(platforms, func(p *platform) bool { return slices.Contains(p.addrs, addr) })
}

// Server sends instances their metadata.
type Server struct {
	mu        sync.RWMutex
	instances map[string]*known // by name
	tokens    tokens
}

// known is an instance and its documents.
type known struct {
	instance *Instance
	platform *platform
	docs     tree
}

// New returns a server for instances, each on its platform.
func New(instances []Instance) (*Server, error) {
	s := &Server{instances: make(map[string]*known)}

	for _, in := range instances {
		if err := s.Set(in); err != nil {
			return nil, err
		}
	}

	return s, nil
}

// Set adds an instance, or replaces the one of its name.
func (s *Server) Set(in Instance) error {
	p := find(in.Platform)
	if p == nil {
		return fmt.Errorf("instance %s: platform %q has no metadata server, want %s or one of %s",
			in.Name, in.Platform, Metal, strings.Join(Platforms(), ", "))
	}

	if len(in.Cards) == 0 {
		return fmt.Errorf("instance %s: no network card", in.Name)
	}

	if in.ID == "" {
		in.ID = fmt.Sprintf("i-%x", []byte(in.Cards[0].MAC))
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.instances[in.Name] = &known{instance: &in, platform: p, docs: p.render(&in)}

	return nil
}

// Serve answers a request of an instance.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, instance string) {
	s.mu.RLock()
	it := s.instances[instance]
	s.mu.RUnlock()

	if it == nil {
		http.Error(w, "this machine is not on a cloud", http.StatusNotFound)

		return
	}

	p := it.platform
	if p.token != nil && s.tokens.serve(w, r, p.token, instance) {
		return
	}

	if p.refuse != nil {
		if status, why := p.refuse(r); status != 0 {
			http.Error(w, why, status)

			return
		}
	}

	if p.serve != nil && p.serve(w, r, it.instance, it.docs) {
		return
	}

	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)

		return
	}

	it.docs.serve(w, r.URL.Path, p.lists)
}
