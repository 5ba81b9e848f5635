// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"reflect"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Kinds returns the kinds of resources that apid reads. Its socket shows no others.
func Kinds() []resource.Kind {
	return []resource.Kind{
		resource.KindOf[secrets.APICertsSpec](""),
		resource.KindOf[runtime.APIServiceConfigSpec](""),
		resource.KindOf[network.NodeAddressSpec](""),
		resource.KindOf[network.HostnameStatusSpec](""),
		memberKind,
	}
}

var memberKind = resource.KindOf[cluster.MemberSpec]("")

// registerTypes registers the types in this process, so that it can decode them.
func registerTypes() error {
	return errors.Join(secrets.Register(), runtime.Register(), network.Register(), cluster.Register())
}

// watchViews sends a view at each change, starting with the first complete one.
func watchViews(ctx context.Context, st state.State, views chan<- *View) error {
	events := make(chan []state.Event)

	for _, kind := range Kinds() {
		if err := st.WatchKindAggregated(ctx, kind, events, state.WithBootstrapContents()); err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
	}

	var (
		last  *View
		known = members{}
		names map[string][]netip.Addr
	)

	for {
		var read, renamed bool

		select {
		case <-ctx.Done():
			return nil
		case batch := <-events:
			for _, e := range batch {
				switch {
				case e.Type == state.Errored:
					return fmt.Errorf("watch: %w", e.Error)
				case isMember(e):
					if err := known.apply(e); err != nil {
						return err
					}

					renamed = true
				default:
					read = true
				}
			}
		}

		if renamed {
			names = known.byName()
		}

		view := last

		if read || last == nil {
			var err error

			view, err = readView(ctx, st, last)
			if ctx.Err() != nil {
				return nil
			}

			if err != nil {
				return err
			}
		}

		if view == nil {
			continue
		}

		named := *view
		named.Members = names
		view = &named

		last = view

		select {
		case <-ctx.Done():
			return nil
		case views <- view:
		}
	}
}

// shut returns the view while certificates change. It admits no one, so that a machine that leaves maintenance mode does not
// stay open. It is nil before the first view.
func (v *View) shut() *View {
	if v == nil {
		return nil
	}

	return &View{Listen: v.Listen, NoRouting: true}
}

// readView reads the view, nil before the first complete one. Unchanged certificates keep their pointers, so that connections
// made with them are kept.
func readView(ctx context.Context, st state.Reader, last *View) (*View, error) {
	var (
		certs     secrets.APICertsSpec
		config    runtime.APIServiceConfigSpec
		addresses network.NodeAddressSpec
		hostname  network.HostnameStatusSpec
	)

	ready, err := typed.All(typed.Read(ctx, st, secrets.APIID, &certs), typed.Read(ctx, st, runtime.APIServiceConfigID, &config))
	if err != nil {
		return nil, err
	}

	if !ready || certs.SkipVerifyingClientCert != config.SkipVerifyingClientCert {
		return last.shut(), nil
	}

	view := &View{Listen: config.ListenAddress, Open: config.SkipVerifyingClientCert, NoRouting: config.NodeRoutingDisabled, certs: certs}

	// By content: a resource that was destroyed and created again starts at the same version.
	if last != nil && reflect.DeepEqual(last.certs, view.certs) {
		view.Server, view.Client, view.CAs = last.Server, last.Client, last.CAs
	} else if err := view.load(&certs); err != nil {
		return nil, err
	}

	if f := typed.Read(ctx, st, network.NodeAddressCurrentID, &addresses); f.Err != nil {
		return nil, f.Err
	}

	for _, prefix := range addresses.Addresses {
		view.Addresses = append(view.Addresses, prefix.Addr().Unmap())
	}

	f := typed.Read(ctx, st, network.HostnameID, &hostname)
	if f.OK {
		view.Hostnames = hostname.DNSNames()
	}

	return view, f.Err
}

func (v *View) load(certs *secrets.APICertsSpec) error {
	server, err := tls.X509KeyPair(certs.Server.Crt, certs.Server.Key)
	if err != nil {
		return fmt.Errorf("server certificate: %w", err)
	}

	v.Server = &server

	if len(certs.Client.Crt) > 0 {
		client, err := tls.X509KeyPair(certs.Client.Crt, certs.Client.Key)
		if err != nil {
			return fmt.Errorf("client certificate: %w", err)
		}

		v.Client = &client
	}

	v.CAs = x509.NewCertPool()
	for _, ca := range certs.AcceptedCAs {
		v.CAs.AppendCertsFromPEM(ca.Crt)
	}

	return nil
}
