// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"os/exec"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/seed-59268b81/talos/pki"
)

// AddEtcdMember adds a member at the address to etcd, as its administrator; it need not exist. The member has a vote from
// then on, unless it is a learner.
func (c *Cluster) AddEtcdMember(address string, learner bool) {
	c.t.Helper()

	ctx, cancel := context.WithTimeout(c.t.Context(), c.Patience(4*time.Minute))
	defer cancel()

	var (
		api *clientv3.Client
		end func()
	)

	// Right after its start the API server's pod may appear, disappear and appear again. The member is added only once, through a port that leads
	// to etcd: for a second try there may be no quorum.
	c.Until("a port leads to etcd", 2*time.Minute, func(try context.Context) (err error) {
		if api, end, err = c.dialEtcd(ctx); err != nil {
			return err
		}

		if _, err = api.MemberList(try); err != nil {
			end()
		}

		return err
	})
	defer end()

	add := api.MemberAdd
	if learner {
		add = api.MemberAddAsLearner
	}

	if _, err := add(ctx, []string{"https://" + address + ":2380"}); err != nil {
		c.Fail("etcd: add the member at %s: %v", address, err)
	}
}

// dialEtcd returns an administrator's client of etcd, until end is called.
func (c *Cluster) dialEtcd(ctx context.Context) (api *clientv3.Client, end func(), err error) {
	access, err := c.etcdAccess()
	if err != nil {
		return nil, nil, err
	}

	endpoint, stop, err := c.forwardEtcd(ctx)
	if err != nil {
		return nil, nil, err
	}

	api, err = clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: []string{"https://" + endpoint}, TLS: access, DialTimeout: tryTime, Logger: zap.NewNop(),
	})
	if err != nil {
		stop()

		return nil, nil, fmt.Errorf("etcd: %w", err)
	}

	return api, func() { api.Close(); stop() }, nil
}

// etcdAccess returns an administrator's access to etcd, signed by the cluster's own authority.
func (c *Cluster) etcdAccess() (*tls.Config, error) {
	pair := c.Generated.Secrets.Certs.Etcd

	authority, err := pki.ParseCA(pair.Crt, pair.Key)
	if err != nil {
		return nil, fmt.Errorf("etcd's authority: %w", err)
	}

	signed, err := authority.Sign(pki.LeafOptions{CommonName: "e2e", Client: true, TTL: time.Hour})
	if err != nil {
		return nil, fmt.Errorf("etcd's administrator: %w", err)
	}

	certificate, err := signed.TLS()
	if err != nil {
		return nil, fmt.Errorf("etcd's administrator: %w", err)
	}

	pool, err := pki.Pool(pair.Crt)
	if err != nil {
		return nil, fmt.Errorf("etcd's authority: %w", err)
	}

	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, Certificates: []tls.Certificate{certificate}}, nil
}

// forwardEtcd forwards a port of this computer to etcd's, through the API server's pod, which is in the machine's network.
// The lab has no port for etcd.
func (c *Cluster) forwardEtcd(ctx context.Context) (endpoint string, end func(), err error) {
	pods, err := c.Pods(ctx, "kube-system", "k8s-app=kube-apiserver")
	if err != nil {
		return "", nil, err
	}

	if len(pods) == 0 {
		return "", nil, fmt.Errorf("the API server has no pod")
	}

	ctx, cancel := context.WithCancel(ctx)
	//program:built kubectl
	cmd := exec.CommandContext(ctx, c.built.Bin("kubectl"), "--kubeconfig", c.Lab.State().KubeconfigPath(),
		"--namespace", "kube-system", "port-forward", "--address", "127.0.0.1", "pod/"+pods[0].Metadata.Name, ":2379")
	cmd.Env = append(cmd.Environ(), c.kubecache())

	var stderr strings.Builder

	cmd.Stderr = &stderr

	stdout, err := cmd.StdoutPipe()
	if err != nil {
		cancel()

		return "", nil, err
	}

	if err := cmd.Start(); err != nil {
		cancel()

		return "", nil, err
	}

	end = func() {
		cancel()
		cmd.Wait()
	}

	line, err := bufio.NewReader(stdout).ReadString('\n')

	// Forwarding from 127.0.0.1:41234 -> 2379
	words := strings.Fields(line)
	if err != nil || len(words) < 3 || words[0] != "Forwarding" {
		end()

		return "", nil, fmt.Errorf("kubectl port-forward: %q, %s", line, strings.TrimSpace(stderr.String()))
	}

	return words[2], end, nil
}
