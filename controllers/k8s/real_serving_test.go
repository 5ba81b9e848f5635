// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/controllers/k8s/servingcert"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
)

const signingRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// serving checks that the API server reads logs only from kubelets with a certificate of the cluster, and which kubelets get one. The test plays
// the kubelet: it registers its Node, requests a certificate as a kubelet does, and serves.
func serving(t *testing.T, c *cluster, admin *kube.Client, adminConfig string) {
	t.Helper()

	root := controllertest.Wait[secretsres.KubernetesRootSpec](c.Node, secretsres.KubernetesRootID, nil)

	s1, s2 := netip.MustParseAddr("172.20.0.11"), netip.MustParseAddr("172.20.0.12")
	one := joinKubelet(t, adminConfig, root, "s1", s1)
	joinKubelet(t, adminConfig, root, "s2", s2)

	server := serveLogs(t, s1)
	server.use(selfSigned(t, s1))

	if _, err := admin.Create(t.Context(), "/api/v1/namespaces/default/pods", kube.Object{
		"apiVersion": "v1", "kind": "Pod", "metadata": kube.Object{"name": "logs"},
		"spec": kube.Object{"nodeName": "s1", "containers": []any{kube.Object{"name": "c", "image": "none"}}},
	}); err != nil {
		t.Fatal(err)
	}

	logs := func() error {
		got, err := admin.Get(t.Context(), "/api/v1/namespaces/default/pods/logs/log?container=c")
		if err == nil && got["line"] != "hello" {
			return fmt.Errorf("got the log %v", got)
		}

		return err
	}

	if err := logs(); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("the log of a kubelet that signs its own certificate: got %v, want it refused", err)
	}

	// An address of another Node, and its own together with that.
	forged := []string{askToServe(t, one, "s1", s2).name, askToServe(t, one, "s1", s1, s2).name}

	begin := time.Now()
	request := askToServe(t, one, "s1", s1)
	crt := request.wait(t, one)
	took := time.Since(begin)

	t.Logf("the serving certificate was approved and signed in %s", took.Round(time.Millisecond))

	pair, err := (pki.Pair{Crt: crt, Key: request.key}).TLS()
	if err != nil {
		t.Fatal(err)
	}

	pool, err := pki.Pool(secretsres.JoinCerts(root.AcceptedCAs))
	if err != nil {
		t.Fatal(err)
	}

	for _, host := range []string{"s1", s1.String()} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
			t.Errorf("the certificate for %s: %v", host, err)
		}
	}

	server.use(pair)
	eventually(t, "the API server reads the log of a kubelet that the cluster knows", logs)

	for _, name := range forged {
		leftAlone(t, c, admin, name)
	}

	approverRights(t, admin)
}

// joinKubelet registers a Node as its kubelet does, and returns the kubelet's client.
func joinKubelet(t *testing.T, adminConfig string, root secretsres.KubernetesRootSpec, name string, addr netip.Addr) *kube.Client {
	t.Helper()

	config, err := kubeconfig.Parse([]byte(adminConfig))
	if err != nil {
		t.Fatal(err)
	}

	identity, err := kubelet.NewIdentity(root, name)
	if err != nil {
		t.Fatal(err)
	}

	config.Crt, config.Key = identity, identity

	client, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(client.Close)

	if _, err := client.Create(t.Context(), "/api/v1/nodes", kube.Object{
		"apiVersion": "v1", "kind": "Node", "metadata": kube.Object{"name": name},
		"status": kube.Object{
			"addresses": []any{
				kube.Object{"type": "InternalIP", "address": addr.String()}, kube.Object{"type": "Hostname", "address": name},
			},
			"daemonEndpoints": kube.Object{"kubeletEndpoint": kube.Object{"Port": kubelet.Port}},
		},
	}); err != nil {
		t.Fatal(err)
	}

	return client
}

type servingRequest struct {
	name string
	key  []byte
}

// askToServe requests a serving certificate with a Node's name and some addresses.
func askToServe(t *testing.T, client *kube.Client, node string, ips ...netip.Addr) servingRequest {
	t.Helper()

	csr, key, err := pki.NewCSR(pki.CSROptions{
		Kind: pki.ECDSAP256, CommonName: "system:node:" + node, Organization: []string{"system:nodes"}, DNSNames: []string{node}, IPs: ips,
	})
	if err != nil {
		t.Fatal(err)
	}

	created, err := client.Create(t.Context(), signingRequests, kube.Object{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": kube.Object{"generateName": "csr-"},
		"spec": kube.Object{
			"signerName": servingcert.Signer, "request": base64.StdEncoding.EncodeToString(csr), "usages": []any{"digital signature", "server auth"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	_, _, _, name := kube.Identity(created)

	return servingRequest{name, key}
}

func (r servingRequest) wait(t *testing.T, client *kube.Client) (crt []byte) {
	t.Helper()

	eventually(t, "the serving certificate is approved and signed", func() error {
		got, err := client.Get(t.Context(), signingRequests+"/"+r.name)
		if err != nil {
			return err
		}

		status, _ := got["status"].(kube.Object)

		encoded, ok := status["certificate"].(string)
		if !ok {
			return fmt.Errorf("its status is %v", status)
		}

		crt, err = base64.StdEncoding.DecodeString(encoded)

		return err
	})

	return crt
}

// leftAlone checks that a forged request is neither approved nor denied, and that an event and a resource say why.
func leftAlone(t *testing.T, c *cluster, admin *kube.Client, name string) {
	t.Helper()

	const reason = "the address 172.20.0.12 is not one of Node s1"

	eventually(t, "a request for another Node's address is reported", func() error {
		told, err := typed.Get[k8sres.KubeletServingRequestSpec](t.Context(), c.State, "", name)
		if err != nil {
			return err
		}

		if got := told.TypedSpec(); got.Reason != reason || got.Requester != "system:node:s1" {
			return fmt.Errorf("got %+v", got)
		}

		events, err := admin.Get(t.Context(), "/api/v1/namespaces/default/events?fieldSelector="+url.QueryEscape("involvedObject.name="+name))
		if err != nil {
			return err
		}

		items, _ := events["items"].([]any)
		if len(items) != 1 || !strings.Contains(fmt.Sprint(items[0]), reason) {
			return fmt.Errorf("got the events %v", items)
		}

		return nil
	})

	got, err := admin.Get(t.Context(), signingRequests+"/"+name)
	if err != nil {
		t.Fatal(err)
	}

	if status, _ := got["status"].(kube.Object); len(status) != 0 {
		t.Errorf("a request for another's address: got %v, want it left alone", status)
	}
}

// approverRights checks that the approver has no other permissions.
func approverRights(t *testing.T, admin *kube.Client) {
	t.Helper()

	for _, attributes := range []kube.Object{
		{"verb": "approve", "group": "certificates.k8s.io", "resource": "signers", "name": "kubernetes.io/kube-apiserver-client"},
		{"verb": "approve", "group": "certificates.k8s.io", "resource": "signers", "name": "kubernetes.io/kube-apiserver-client-kubelet"},
		{"verb": "sign", "group": "certificates.k8s.io", "resource": "signers", "name": servingcert.Signer},
		{"verb": "delete", "group": "certificates.k8s.io", "resource": "certificatesigningrequests"},
		{"verb": "get", "resource": "secrets"}, {"verb": "create", "resource": "pods"}, {"verb": "update", "resource": "nodes"},
	} {
		review, err := admin.Create(t.Context(), "/apis/authorization.k8s.io/v1/subjectaccessreviews", kube.Object{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
			"spec": kube.Object{
				"user": manifests.ServingApprover, "groups": []any{manifests.ServingApprover, "system:authenticated"}, "resourceAttributes": attributes,
			},
		})
		if status, _ := review["status"].(kube.Object); err != nil || status["allowed"] != false {
			t.Errorf("the approver's %v: got %v, %v; want it refused", attributes, status, err)
		}
	}
}

// logServer is the part of a kubelet from which the API server reads logs.
type logServer struct {
	cert atomic.Pointer[tls.Certificate]
}

func (s *logServer) use(cert tls.Certificate) { s.cert.Store(&cert) }

func serveLogs(t *testing.T, addr netip.Addr) *logServer {
	t.Helper()

	s := &logServer{}

	listener, err := tls.Listen("tcp", netip.AddrPortFrom(addr, kubelet.Port).String(), &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.cert.Load(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}

	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/containerLogs/default/logs/c" || r.TLS.PeerCertificates[0].Subject.CommonName != "apiserver-kubelet-client" {
			http.Error(w, "a kubelet would not answer "+r.URL.Path, http.StatusForbidden)

			return
		}

		fmt.Fprintln(w, `{"line":"hello"}`)
	})}
	done := make(chan struct{})

	go func() {
		defer close(done)

		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}()

	t.Cleanup(func() {
		server.Close()
		<-done
	})

	return s
}

// selfSigned is the serving certificate of a kubelet that signs its own.
func selfSigned(t *testing.T, addr netip.Addr) tls.Certificate {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"s1"}})
	if err != nil {
		t.Fatal(err)
	}

	pair, err := ca.Sign(pki.LeafOptions{CommonName: "s1", DNSNames: []string{"s1"}, IPs: []netip.Addr{addr}, Server: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	cert, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}

	return cert
}
