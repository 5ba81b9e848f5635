// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"reflect"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Kinds are the resources that apid reads, and all that its socket has to show.
func Kinds() []resource.Kind {
	return []resource.Kind{
		resource.KindOf[secrets.APICertsSpec](""),
		resource.KindOf[runtime.APIServiceConfigSpec](""),
		resource.KindOf[network.NodeAddressSpec](""),
		resource.KindOf[network.HostnameStatusSpec](""),
	}
}

// registerTypes makes the types known to this process, so that they are decoded.
func registerTypes() error {
	return errors.Join(secrets.Register(), runtime.Register(), network.Register())
}

// watchViews sends a view at each change, once there is something to serve with.
func watchViews(ctx context.Context, st state.State, views chan<- *View) error {
	events := make(chan []state.Event)

	for _, kind := range Kinds() {
		if err := st.WatchKindAggregated(ctx, kind, events, state.WithBootstrapContents()); err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
	}

	var last *View

	for {
		select {
		case <-ctx.Done():
			return nil
		case batch := <-events:
			for _, e := range batch {
				if e.Type == state.Errored {
					return fmt.Errorf("watch: %w", e.Error)
				}
			}
		}

		view, err := readView(ctx, st, last)
		if ctx.Err() != nil {
			return nil
		}

		if err != nil {
			return err
		}

		if view == nil {
			continue
		}

		last = view

		select {
		case <-ctx.Done():
			return nil
		case views <- view:
		}
	}
}

// shut is the view between two: nobody is let in, so that a machine that leaves maintenance is never open longer than
// it should be. There is none before the first.
func (v *View) shut() *View {
	if v == nil {
		return nil
	}

	return &View{Listen: v.Listen, NoRouting: true}
}

// readView puts a view together; nil before there is a first. Certificates that did not change keep their identity, so
// that connections made with them are kept.
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

	// By content: a resource that was destroyed and made anew starts at the same version again.
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
