// SPDX-License-Identifier: Apache-2.0

package etcdclient

import (
	"context"
	"errors"
	"slices"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/resources/secrets"
)

// Pool keeps one connection to each server that is asked again and again. Use replaces the certificates; a zero Pool has none. The
// connections end with Close.
type Pool struct {
	mu      sync.Mutex
	root    secrets.EtcdRootSpec
	certs   secrets.EtcdCertsSpec
	clients map[string]*clientv3.Client
}

// Use sets the certificates. When they have changed, all connections are made again.
func (p *Pool) Use(root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec) {
	p.mu.Lock()
	defer p.mu.Unlock()

	same := string(p.root.EtcdCA.Crt) == string(root.EtcdCA.Crt) && string(p.certs.EtcdAdmin.Crt) == string(certs.EtcdAdmin.Crt)
	p.root, p.certs = root, certs

	if !same {
		_ = p.keep(nil) // they are not used any more
	}
}

// Keep ends the connections to all servers but these.
func (p *Pool) Keep(urls []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.keep(urls)
}

// Close ends all connections.
func (p *Pool) Close() error { return p.Keep(nil) }

func (p *Pool) keep(urls []string) (err error) {
	for url, client := range p.clients {
		if !slices.Contains(urls, url) {
			err = errors.Join(err, client.Close())

			delete(p.clients, url)
		}
	}

	return err
}

// Client returns the client of one server.
func (p *Pool) Client(url string) (*clientv3.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if client := p.clients[url]; client != nil {
		return client, nil
	}

	client, err := New(context.Background(), p.root, p.certs, url) // until Close
	if err != nil {
		return nil, err
	}

	if p.clients == nil {
		p.clients = map[string]*clientv3.Client{}
	}

	p.clients[url] = client

	return client, nil
}

// conn returns the connection to one server. Calls over it fail at once, with the cause, when the server cannot be reached; those of a
// client are repeated until they time out.
func (p *Pool) conn(url string) (*grpc.ClientConn, error) {
	client, err := p.Client(url)
	if err != nil {
		return nil, err
	}

	return client.ActiveConnection(), nil
}
