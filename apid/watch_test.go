// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
)

func issue(t *testing.T) (secrets.CertAndKey, []byte) {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	leaf, err := ca.Sign(pki.LeafOptions{CommonName: "node", IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Server: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	return secrets.CertAndKey{Crt: leaf.Crt, Key: leaf.Key}, ca.PEM.Crt
}

// When a machine leaves maintenance mode its certificates are issued again, in another resource at the same version.
func TestReadViewTakesNewCertificates(t *testing.T) {
	ctx := context.Background()
	st := memory.New()

	maintenance, _ := issue(t)
	if err := typed.Set(ctx, st, "", secrets.APIID, secrets.APICertsSpec{Server: maintenance, SkipVerifyingClientCert: true}); err != nil {
		t.Fatal(err)
	}

	listen := runtime.APIServiceConfigSpec{ListenAddress: ":50000", SkipVerifyingClientCert: true}
	if err := typed.Set(ctx, st, "", runtime.APIServiceConfigID, listen); err != nil {
		t.Fatal(err)
	}

	first, err := readView(ctx, st, nil)
	if err != nil || first == nil || !first.Open {
		t.Fatalf("in maintenance: got %+v, %v", first, err)
	}

	again, err := readView(ctx, st, first)
	if err != nil || again.Server != first.Server {
		t.Errorf("the same certificates must keep their identity: %v", err)
	}

	if err := st.Destroy(ctx, resource.PointerOf[secrets.APICertsSpec]("", secrets.APIID)); err != nil {
		t.Fatal(err)
	}

	listen.SkipVerifyingClientCert = false
	if err := typed.Set(ctx, st, "", runtime.APIServiceConfigID, listen); err != nil {
		t.Fatal(err)
	}

	shut, err := readView(ctx, st, first)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := shut.TLS(); err == nil {
		t.Error("without certificates: the API is open")
	}

	configured, ca := issue(t)
	if err := typed.Set(ctx, st, "", secrets.APIID, secrets.APICertsSpec{Server: configured, AcceptedCAs: []secrets.Cert{{Crt: ca}}}); err != nil {
		t.Fatal(err)
	}

	second, err := readView(ctx, st, shut)
	if err != nil || second == nil || second.Open {
		t.Fatalf("configured: got %+v, %v", second, err)
	}

	if second.Server == first.Server || second.CAs == first.CAs {
		t.Error("apid still has the certificates of maintenance mode")
	}
}
