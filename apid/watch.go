// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

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

// readView puts a view together; nil while a part is missing. Certificates that did not change keep their identity, so
// that connections made with them are kept.
func readView(ctx context.Context, st state.Reader, last *View) (*View, error) {
	certs, err := typed.Find[secrets.APICertsSpec](ctx, st, "", secrets.APIID)
	if err != nil || certs == nil {
		return nil, err
	}

	config, err := typed.Find[runtime.APIServiceConfigSpec](ctx, st, "", runtime.APIServiceConfigID)
	if err != nil || config == nil {
		return nil, err
	}

	view := &View{
		Listen:    config.TypedSpec().ListenAddress,
		Open:      config.TypedSpec().SkipVerifyingClientCert,
		NoRouting: config.TypedSpec().NodeRoutingDisabled,
		version:   certs.Metadata().Version(),
	}

	// A configuration that is not open must never be served with certificates that are.
	if !view.Open && certs.TypedSpec().SkipVerifyingClientCert {
		return nil, nil //nolint:nilnil // the certificates are about to change
	}

	if last != nil && last.version == view.version {
		view.Server, view.Client, view.CAs = last.Server, last.Client, last.CAs
	} else if err := view.load(certs.TypedSpec()); err != nil {
		return nil, err
	}

	if addresses, err := typed.Find[network.NodeAddressSpec](ctx, st, "", network.NodeAddressCurrentID); err != nil {
		return nil, err
	} else if addresses != nil {
		for _, prefix := range addresses.TypedSpec().Addresses {
			view.Addresses = append(view.Addresses, prefix.Addr().Unmap())
		}
	}

	if hostname, err := typed.Find[network.HostnameStatusSpec](ctx, st, "", network.HostnameID); err != nil {
		return nil, err
	} else if hostname != nil {
		view.Hostnames = []string{hostname.TypedSpec().Hostname}
		if fqdn := hostname.TypedSpec().FQDN(); fqdn != hostname.TypedSpec().Hostname {
			view.Hostnames = append(view.Hostnames, fqdn)
		}
	}

	return view, nil
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
