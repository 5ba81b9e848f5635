// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/controllers/secrets/trust"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// signed asks for a certificate; trust.Certificate, and a test's own.
type signed func(ctx context.Context, r trust.Request) (crt []byte, err error)

// workerAPI keeps the certificate of a node that has no authority's key: trustd of a control plane node signs it. The
// present one is kept until there is a better one.
type workerAPI struct {
	ask signed
	// asked is what the present certificate was asked for with.
	asked [sha256.Size]byte
	due   renewal
}

func (w *workerAPI) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger, root secrets.OSRootSpec) error {
	var (
		held secrets.APICertsSpec
		sans secrets.CertSANSpec
	)

	if f := typed.Read(ctx, rt, secrets.APIID, &held); f.Err != nil {
		return f.Err
	}

	// What let anybody in before there was a configuration is over.
	if held.SkipVerifyingClientCert {
		rt.StartTrackingOutputs()

		if err := rt.CleanupOutputs(ctx, resource.KindOf[secrets.APICertsSpec]("")); err != nil {
			return err
		}

		held = secrets.APICertsSpec{}
	}

	// Who may call is the configuration's to say, at once, whatever becomes of the certificate.
	if !held.Server.Empty() && !reflect.DeepEqual(held.AcceptedCAs, root.AcceptedCAs) {
		held.AcceptedCAs = root.AcceptedCAs

		if err := typed.Set(ctx, rt, "", secrets.APIID, held); err != nil {
			return err
		}
	}

	if f := typed.Read(ctx, rt, secrets.CertSANAPIID, &sans); !f.OK {
		return f.Err
	}

	return w.renew(ctx, rt, log, held, root, sans)
}

// renew asks for a certificate if the one that is held is not, or not any more, what is wanted.
func (w *workerAPI) renew(
	ctx context.Context, rt controller.Runtime, log *slog.Logger, held secrets.APICertsSpec, root secrets.OSRootSpec, sans secrets.CertSANSpec,
) error {
	roots, err := pki.Pool(secrets.JoinCerts(root.AcceptedCAs))
	if err != nil {
		return fmt.Errorf("machine.ca: %w", err)
	}

	now := time.Now()
	wanted := sha256.Sum256(fmt.Appendf(nil, "%q %s %q %q", sans.FQDN, sans.IPs, sans.DNSNames, secrets.JoinCerts(root.AcceptedCAs)))

	if wanted == w.asked {
		if cert, err := usable(held.Server, roots, now); err == nil && now.Before(renewWorker(cert)) {
			w.due.at(renewWorker(cert), now, rt.QueueReconcile)

			return nil
		}
	}

	request, err := w.request(ctx, rt, root)
	if err != nil {
		return err
	}

	kind, err := authorityKind(root)
	if err != nil {
		return err
	}

	csr, key, err := pki.NewCSR(pki.CSROptions{Kind: kind, CommonName: sans.FQDN, DNSNames: sans.DNSNames, IPs: sans.IPs})
	if err != nil {
		return err
	}

	request.Roots, request.CSR = roots, csr

	crt, err := w.ask(ctx, request)
	if ctx.Err() != nil {
		return nil // the controller ends
	}

	if err != nil {
		return fmt.Errorf("get a certificate for the API: %w", err)
	}

	server := secrets.CertAndKey{Crt: crt, Key: key}

	cert, err := usable(server, roots, time.Now())
	if err != nil {
		return fmt.Errorf("trustd answered with a certificate that is of no use: %w", err)
	}

	if err := typed.Set(ctx, rt, "", secrets.APIID, secrets.APICertsSpec{Server: server, AcceptedCAs: root.AcceptedCAs}); err != nil {
		return err
	}

	w.asked = wanted
	w.due.at(renewWorker(cert), now, rt.QueueReconcile)

	log.InfoContext(ctx, "the API has a certificate from trustd",
		"names", cert.DNSNames, "addresses", cert.IPAddresses, "until", cert.NotAfter, "left out", leftOut(sans, cert))

	return nil
}

// request has the control plane as it is known, from the configuration and, once there is a node, from Kubernetes.
func (w *workerAPI) request(ctx context.Context, rt controller.Runtime, root secrets.OSRootSpec) (trust.Request, error) {
	request := trust.Request{Token: root.Token}

	endpoints, err := typed.List[k8s.EndpointSpec](ctx, rt, "")
	if err != nil {
		return request, err
	}

	for _, e := range endpoints {
		request.Hosts = append(request.Hosts, e.TypedSpec().Hosts...)
		request.Addresses = append(request.Addresses, e.TypedSpec().Addresses...)
	}

	return request, nil
}

// usable tells why a certificate cannot be served with now, if it cannot.
func usable(server secrets.CertAndKey, roots *x509.CertPool, now time.Time) (*x509.Certificate, error) {
	if server.Empty() {
		return nil, errors.New("there is none")
	}

	pair, err := pki.Pair(server).TLS()
	if err != nil {
		return nil, err
	}

	intermediates := x509.NewCertPool()

	for _, raw := range pair.Certificate[1:] {
		if cert, err := x509.ParseCertificate(raw); err == nil {
			intermediates.AddCert(cert)
		}
	}

	_, err = pair.Leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})

	return pair.Leaf, err
}

// renewWorker is when a certificate is asked for anew: at half of its life, and up to a twentieth of it later, so that
// the workers of a cluster that was started as a whole do not all come at once.
func renewWorker(cert *x509.Certificate) time.Time {
	sum := sha256.Sum256(cert.Raw)
	spread := cert.NotAfter.Sub(cert.NotBefore) / 20 / 256

	return pki.RenewAt(cert).Add(time.Duration(sum[0]) * spread)
}

// authorityKind is the kind of key that the cluster's API uses.
func authorityKind(root secrets.OSRootSpec) (pki.KeyKind, error) {
	cert, err := pki.ParseCertificate(root.IssuingCA.Crt)
	if err != nil {
		return 0, fmt.Errorf("machine.ca: %w", err)
	}

	kind, err := pki.KindOf(cert.PublicKey)
	if err != nil {
		return 0, fmt.Errorf("machine.ca: %w", err)
	}

	return kind, nil
}

// leftOut are the names and addresses that were asked for and not granted.
func leftOut(sans secrets.CertSANSpec, cert *x509.Certificate) []string {
	out := slices.DeleteFunc(slices.Clone(sans.DNSNames), func(name string) bool { return slices.Contains(cert.DNSNames, name) })

	granted := certIPs(cert)
	for _, addr := range sortedIPs(sans.IPs) {
		if !slices.Contains(granted, addr) {
			out = append(out, addr.String())
		}
	}

	return out
}
