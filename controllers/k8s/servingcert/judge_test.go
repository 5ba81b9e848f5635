// SPDX-License-Identifier: Apache-2.0

package servingcert_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/k8s/servingcert"
)

// cluster has a control plane and three workers. w3 claims names and addresses of others.
func cluster() servingcert.Cluster {
	addrs := func(texts ...string) (out []netip.Addr) {
		for _, text := range texts {
			out = append(out, netip.MustParseAddr(text))
		}

		return out
	}

	return servingcert.Cluster{
		Nodes: map[string]servingcert.Node{
			"cp1": {Addresses: addrs("10.5.0.2", "fd00::2"), Names: []string{"cp1"}, ControlPlane: true},
			"w1":  {Addresses: addrs("10.5.0.3", "fd00::3", "127.0.0.1", "169.254.0.3"), Names: []string{"w1", "w1.example.org", "localhost", "*.example.org", "10.5.0.4"}},
			"w2":  {Addresses: addrs("10.5.0.4"), Names: []string{"w2"}},
			"w3": {
				Addresses: addrs("10.5.0.5", "10.5.0.4", "10.5.0.2", "10.96.0.1", "10.5.0.100"),
				Names:     []string{"w3", "w2", "cp1", "kubernetes.default.svc", "api.example.org", "web.default.svc", "web.default.svc.cluster.local", "shared.example.org"},
			},
			"w4":                     {Addresses: addrs("10.5.0.6"), Names: []string{"w4", "shared.example.org"}},
			"kubernetes.default.svc": {Addresses: addrs("10.5.0.7")},
		},
		Names:     []string{"kubernetes", "kubernetes.default.svc", "api.example.org", "localhost", "cp1"},
		Addresses: addrs("10.96.0.1", "10.5.0.100", "10.5.0.2", "fd00::2", "127.0.0.1"),
		Domain:    "cluster.local",
	}
}

func newKey(t testing.TB, bits int) crypto.Signer {
	t.Helper()

	var (
		key crypto.Signer
		err error
	)

	if bits > 0 {
		key, err = rsa.GenerateKey(rand.Reader, bits)
	} else {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}

	if err != nil {
		t.Fatal(err)
	}

	return key
}

// asked is a request of a kubelet.
type asked struct {
	request servingcert.Request
	csr     x509.CertificateRequest
	bits    int // of an RSA key
	cluster servingcert.Cluster
}

// of returns a valid request of a Node.
func of(node string, names []string, ips ...string) asked {
	user := "system:node:" + node
	a := asked{
		request: servingcert.Request{
			Name: "csr-1", Signer: servingcert.Signer, Username: user, Groups: []string{"system:nodes", "system:authenticated"},
			Usages: []string{"server auth", "digital signature"},
		},
		csr:     x509.CertificateRequest{Subject: pkix.Name{CommonName: user, Organization: []string{"system:nodes"}}, DNSNames: names},
		cluster: cluster(),
	}

	for _, ip := range ips {
		a.csr.IPAddresses = append(a.csr.IPAddresses, net.ParseIP(ip))
	}

	return a
}

func (a asked) sign(t testing.TB) servingcert.Request {
	t.Helper()

	der, err := x509.CreateCertificateRequest(rand.Reader, &a.csr, newKey(t, a.bits))
	if err != nil {
		t.Fatal(err)
	}

	a.request.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})

	return a.request
}

func TestJudge(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		node   string
		names  []string
		ips    []string
		change func(*asked)
		// want is part of the reason why it is not approved; empty when it is approved.
		want string
	}{
		"what a kubelet requests":                {node: "w1", names: []string{"w1"}, ips: []string{"10.5.0.3"}},
		"two families":                           {node: "w1", names: []string{"w1"}, ips: []string{"10.5.0.3", "fd00::3"}},
		"an address alone":                       {node: "w1", ips: []string{"10.5.0.3"}},
		"a name alone":                           {node: "w1", names: []string{"w1"}},
		"a cloud's name":                         {node: "w1", names: []string{"W1.example.org"}, ips: []string{"10.5.0.3"}},
		"a control plane, and API server":        {node: "cp1", names: []string{"cp1"}, ips: []string{"10.5.0.2", "fd00::2"}},
		"a name that another Node claims too":    {node: "w2", names: []string{"w2"}},
		"RSA":                                    {node: "w1", names: []string{"w1"}, change: func(a *asked) { a.bits = 2048 }},
		"RSA that enciphers keys":                {node: "w1", names: []string{"w1"}, change: func(a *asked) { a.bits = 2048; a.request.Usages = append(a.request.Usages, "key encipherment") }},
		"ECDSA that enciphers keys":              {node: "w1", names: []string{"w1"}, want: "usages", change: func(a *asked) { a.request.Usages = append(a.request.Usages, "key encipherment") }},
		"a client's usage":                       {node: "w1", names: []string{"w1"}, want: "usages", change: func(a *asked) { a.request.Usages = append(a.request.Usages, "client auth") }},
		"a client's usage instead of a server's": {node: "w1", names: []string{"w1"}, want: "usages", change: func(a *asked) { a.request.Usages = []string{"digital signature", "client auth"} }},
		"a usage twice":                          {node: "w1", names: []string{"w1"}, want: "usages", change: func(a *asked) { a.request.Usages = []string{"server auth", "server auth"} }},
		"no usage":                               {node: "w1", names: []string{"w1"}, want: "usages", change: func(a *asked) { a.request.Usages = nil }},
		"a short RSA key":                        {node: "w1", names: []string{"w1"}, want: "RSA with 1024 bits", change: func(a *asked) { a.bits = 1024 }},
		"another signer":                         {node: "w1", names: []string{"w1"}, want: "signer", change: func(a *asked) { a.request.Signer = "kubernetes.io/kube-apiserver-client" }},
		"a person":                               {node: "w1", names: []string{"w1"}, want: "not a Node's user", change: func(a *asked) { a.request.Username = "admin" }},
		"not a Node's user":                      {node: "w1", names: []string{"w1"}, want: "not a Node's user", change: func(a *asked) { a.request.Username = "system:node:" }},
		"not in the group":                       {node: "w1", names: []string{"w1"}, want: "not in the group", change: func(a *asked) { a.request.Groups = []string{"system:authenticated"} }},
		"in the name of another":                 {node: "w1", names: []string{"w1"}, want: "common name", change: func(a *asked) { a.csr.Subject.CommonName = "system:node:w2" }},
		"a name in other letters":                {node: "w1", names: []string{"w1"}, want: "common name", change: func(a *asked) { a.csr.Subject.CommonName = "system:node:W1" }},
		"another organization":                   {node: "w1", names: []string{"w1"}, want: "organization", change: func(a *asked) { a.csr.Subject.Organization = []string{"system:masters"} }},
		"another organization too":               {node: "w1", names: []string{"w1"}, want: "organization", change: func(a *asked) { a.csr.Subject.Organization = []string{"system:nodes", "system:masters"} }},
		"no organization":                        {node: "w1", names: []string{"w1"}, want: "organization", change: func(a *asked) { a.csr.Subject.Organization = nil }},
		"more in the subject":                    {node: "w1", names: []string{"w1"}, want: "more than", change: func(a *asked) { a.csr.Subject.OrganizationalUnit = []string{"x"} }},
		"neither name nor address":               {node: "w1", want: "no DNS name and no IP address"},
		"an e-mail address":                      {node: "w1", names: []string{"w1"}, want: "e-mail", change: func(a *asked) { a.csr.EmailAddresses = []string{"a@b"} }},
		"a URI":                                  {node: "w1", names: []string{"w1"}, want: "URIs", change: func(a *asked) { a.csr.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }},
		"an authority": {node: "w1", names: []string{"w1"}, want: "extension 2.5.29.19", change: func(a *asked) {
			a.csr.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}}
		}},
		"an unknown Node":                         {node: "w9", names: []string{"w9"}, want: "there is no Node w9"},
		"an address of another Node":              {node: "w1", names: []string{"w1"}, ips: []string{"10.5.0.3", "10.5.0.4"}, want: "10.5.0.4 is not one of Node w1"},
		"an address of another Node, claimed":     {node: "w3", ips: []string{"10.5.0.4"}, want: "10.5.0.4 is also one of Node w2"},
		"an address that another Node claims too": {node: "w2", ips: []string{"10.5.0.4"}, want: "10.5.0.4 is also one of Node w3"},
		"an address that no Node claims":          {node: "w1", ips: []string{"10.5.0.9"}, want: "10.5.0.9 is not one of Node w1"},
		"the control plane's address":             {node: "w3", ips: []string{"10.5.0.2"}, want: "10.5.0.2 is one of the API server's"},
		"the load balancer's address":             {node: "w3", ips: []string{"10.5.0.100"}, want: "10.5.0.100 is one of the API server's"},
		"the Service's address":                   {node: "w3", ips: []string{"10.96.0.1"}, want: "10.96.0.1 is one of the API server's"},
		"loopback":                                {node: "w1", ips: []string{"127.0.0.1"}, want: "cannot belong to one Node only"},
		"a link's address":                        {node: "w1", ips: []string{"169.254.0.3"}, want: "cannot belong to one Node only"},
		"no address":                              {node: "w1", ips: []string{"0.0.0.0"}, want: "cannot belong to one Node only"},
		"a name of another Node":                  {node: "w1", names: []string{"w2"}, want: "the name w2 is not one of Node w1"},
		"a name of another Node, claimed":         {node: "w3", names: []string{"w2"}, want: "the name w2 is also one of Node w2"},
		"the control plane's name":                {node: "w3", names: []string{"cp1"}, want: "cp1 is one of the API server's"},
		"the endpoint's name":                     {node: "w3", names: []string{"api.example.org"}, want: "api.example.org is one of the API server's"},
		"the API server's Service":                {node: "w3", names: []string{"kubernetes.default.svc"}, want: "is one of the API server's"},
		"a Node called like the API server":       {node: "kubernetes.default.svc", names: []string{"kubernetes.default.svc"}, want: "is one of the API server's"},
		"a Service":                               {node: "w3", names: []string{"web.default.svc"}, want: "may be a Service's"},
		"a Service, in full":                      {node: "w3", names: []string{"web.default.svc.cluster.local"}, want: "may be a Service's"},
		"a name that two Nodes claim":             {node: "w4", names: []string{"shared.example.org"}, want: "shared.example.org is also one of Node w3"},
		"localhost":                               {node: "w1", names: []string{"localhost"}, want: "belongs to every node"},
		"a wildcard":                              {node: "w1", names: []string{"*.example.org"}, want: "not the name of a host"},
		"an address as a name":                    {node: "w1", names: []string{"10.5.0.4"}, want: "not the name of a host"},
		"many addresses": {node: "w1", want: "257 names and addresses", change: func(a *asked) {
			a.csr.DNSNames = strings.Split(strings.Repeat("w1,", 256)+"w1", ",")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := of(test.node, test.names, test.ips...)
			if test.change != nil {
				test.change(&a)
			}

			err := servingcert.Judge(a.sign(t), a.cluster)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestJudgeBytes checks texts that cannot be decoded as a request.
func TestJudgeBytes(t *testing.T) {
	t.Parallel()

	right := of("w1", []string{"w1"}, "10.5.0.3").sign(t)
	block, _ := pem.Decode(right.PEM)

	forged := bytes.Clone(block.Bytes)
	forged[len(forged)-1] ^= 1

	for name, test := range map[string]struct {
		text []byte
		want string
	}{
		"nothing":            {nil, "not a CERTIFICATE REQUEST"},
		"another type":       {pem.EncodeToMemory(&pem.Block{Type: "NEW CERTIFICATE REQUEST", Bytes: block.Bytes}), "not a CERTIFICATE REQUEST"},
		"another before":     {append(pem.EncodeToMemory(&pem.Block{Type: "X"}), right.PEM...), "not a CERTIFICATE REQUEST"},
		"nonsense":           {pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: []byte("x")}), "cannot be decoded"},
		"a forged signature": {pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: forged}), "not signed with its own key"},
		"much":               {bytes.Repeat([]byte("x"), 16<<10+1), "want at most 16384"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := right
			r.PEM = test.text

			if err := servingcert.Judge(r, cluster()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// FuzzJudge checks that no request causes a panic, and that an approved one has only the Node's own names and addresses, according to another
// parser.
func FuzzJudge(f *testing.F) {
	for _, seed := range []asked{
		of("w1", []string{"w1"}, "10.5.0.3"), of("w1", []string{"w2"}, "10.5.0.4"), of("w1", []string{"*.example.org"}, "127.0.0.1"),
	} {
		f.Add(seed.sign(f).PEM)
	}

	known := cluster()
	names, addresses := map[string]bool{"w1": true, "w1.example.org": true}, map[string]bool{"10.5.0.3": true, "fd00::3": true}

	f.Fuzz(func(t *testing.T, text []byte) {
		r := of("w1", nil).request
		r.PEM = text

		if servingcert.Judge(r, known) != nil {
			return
		}

		block, _ := pem.Decode(text)

		csr, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}

		if csr.Subject.CommonName != "system:node:w1" || len(csr.EmailAddresses)+len(csr.URIs) > 0 || len(csr.DNSNames)+len(csr.IPAddresses) == 0 {
			t.Fatalf("approved: subject %s, names %q, addresses %s", csr.Subject, csr.DNSNames, csr.IPAddresses)
		}

		for _, name := range csr.DNSNames {
			if !names[strings.ToLower(name)] {
				t.Fatalf("approved the name %q", name)
			}
		}

		for _, ip := range csr.IPAddresses {
			if !addresses[ip.String()] {
				t.Fatalf("approved the address %s", ip)
			}
		}
	})
}

func TestRequestOf(t *testing.T) {
	t.Parallel()

	object := map[string]any{
		"metadata": map[string]any{"name": "csr-1", "uid": "u"},
		"spec": map[string]any{
			"request": "eA==", "signerName": servingcert.Signer, "username": "system:node:w1", "groups": []any{"a"}, "usages": []any{"b"},
		},
	}

	got, err := servingcert.RequestOf(object)
	if err != nil || string(got.PEM) != "x" || got.Node() != "w1" || got.UID != "u" || got.Decided || len(got.Groups) != 1 || len(got.Usages) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}

	if diff := cmp.Diff(object, servingcert.Undecided(object)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}

	large := maps.Clone(object)
	large["metadata"] = map[string]any{"name": "csr-1", "uid": "u", "managedFields": []any{"many"}}
	large["spec"] = map[string]any{"request": strings.Repeat("eHh4", 8192), "signerName": servingcert.Signer}

	if text := fmt.Sprint(servingcert.Undecided(large)); len(text) > 1000 || strings.Contains(text, "many") || !strings.Contains(text, servingcert.Signer) {
		t.Errorf("kept of a large one: got %d bytes: %.200s", len(text), text)
	}

	object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Denied"}}}

	if got, _ := servingcert.RequestOf(object); !got.Decided || servingcert.Undecided(object) != nil {
		t.Errorf("denied: got %+v, want it decided, and nothing kept", got)
	}

	object["spec"] = map[string]any{"request": "?"}

	if _, err := servingcert.RequestOf(object); err == nil {
		t.Error("a request that is not base64: got no error")
	}
}
