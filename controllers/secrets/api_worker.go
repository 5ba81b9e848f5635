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

// signed requests a certificate: trust.Certificate, or a fake in tests.
type signed func(ctx context.Context, r trust.Request) (crt []byte, err error)

// workerAPI maintains the certificate of a node that does not have the key of the authority: trustd on a control plane signs it. The
// current certificate is kept until there is a new one.
type workerAPI struct {
	ask signed
	// asked is the digest of the names and authorities that the current certificate was requested with.
	asked [sha256.Size]byte
	due   renewal
	// again is when a certificate is asked for once more because the current one lacks names or addresses, and pause is the time until then. Both
	// are zero for one that lacks nothing.
	again time.Time
	pause time.Duration
}

// Trustd leaves out what belongs to another Node. It may be this machine's: its Node did not have the address yet that the request came from, or
// the name was that of a machine that is gone.
const (
	lackPause = 30 * time.Second
	lackLimit = time.Hour
)

func (w *workerAPI) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger, root secrets.OSRootSpec) error {
	var (
		held secrets.APICertsSpec
		sans secrets.CertSANSpec
	)

	if f := typed.Read(ctx, rt, secrets.APIID, &held); f.Err != nil {
		return f.Err
	}

	// The certificate of the maintenance API, which let everyone in, is no longer valid.
	if held.SkipVerifyingClientCert {
		rt.StartTrackingOutputs()

		if err := rt.CleanupOutputs(ctx, resource.KindOf[secrets.APICertsSpec]("")); err != nil {
			return err
		}

		held = secrets.APICertsSpec{}
	}

	// The configuration decides which clients are accepted, at once, even if no new certificate can be issued.
	if !held.Server.Empty() && !reflect.DeepEqual(held.AcceptedCAs, root.AcceptedCAs) {
		held.AcceptedCAs = root.AcceptedCAs

		if err := typed.Set(ctx, rt, "", secrets.APIID, held); err != nil {
			return err
		}
	}

	if held.Server.Empty() {
		if err := w.useKept(ctx, rt, log, &held, root); err != nil {
			return err
		}
	}

	if f := typed.Read(ctx, rt, secrets.CertSANAPIID, &sans); !f.OK {
		return f.Err
	}

	return w.renew(ctx, rt, log, held, root, sans)
}

// useKept has the API serve with the certificate of the boot before until there is a new one, if its authority is still accepted. A clock that is behind
// does not prevent that; whether the certificate is valid is decided by the clock of the client.
func (w *workerAPI) useKept(ctx context.Context, rt controller.Runtime, log *slog.Logger, held *secrets.APICertsSpec, root secrets.OSRootSpec) error {
	var kept secrets.APICertsSpec

	if f := typed.Read(ctx, rt, secrets.APIKeptID, &kept); !f.OK {
		return f.Err
	}

	roots, err := pki.Pool(secrets.JoinCerts(root.AcceptedCAs))
	if err != nil {
		return fmt.Errorf("machine.ca: %w", err)
	}

	now := time.Now()
	if pair, err := pki.Pair(kept.Server).TLS(); err == nil && now.Before(pair.Leaf.NotBefore) {
		now = pair.Leaf.NotBefore
	}

	cert, err := usable(kept.Server, roots, now)
	if err != nil {
		log.WarnContext(ctx, "the API's certificate from before this boot is not used", "error", err)

		return nil
	}

	*held = secrets.APICertsSpec{Server: kept.Server, AcceptedCAs: root.AcceptedCAs}

	log.InfoContext(ctx, "the API has the certificate from before this boot", "names", cert.DNSNames, "addresses", cert.IPAddresses, "until", cert.NotAfter)

	return typed.Set(ctx, rt, "", secrets.APIID, *held)
}

// renew requests a new certificate unless the current one still fits.
func (w *workerAPI) renew(
	ctx context.Context, rt controller.Runtime, log *slog.Logger, held secrets.APICertsSpec, root secrets.OSRootSpec, sans secrets.CertSANSpec,
) error {
	roots, err := pki.Pool(secrets.JoinCerts(root.AcceptedCAs))
	if err != nil {
		return fmt.Errorf("machine.ca: %w", err)
	}

	now := time.Now()
	wanted := sha256.Sum256(fmt.Appendf(nil, "%q %s %q %q", sans.FQDN, sans.IPs, sans.DNSNames, secrets.JoinCerts(root.AcceptedCAs)))

	current, err := usable(held.Server, roots, now)

	fits := err == nil && wanted == w.asked && now.Before(renewWorker(current))
	if fits && (w.again.IsZero() || now.Before(w.again)) {
		w.wake(rt, current, now)

		return nil
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

	if err != nil && fits {
		log.DebugContext(ctx, "the API's certificate is not completed yet", "error", err)
		w.keep(rt, current, leftOut(sans, current), now)

		return nil
	}

	if err != nil {
		return fmt.Errorf("request a certificate for the API: %w", err)
	}

	server := secrets.CertAndKey{Crt: crt, Key: key}

	cert, err := usable(server, roots, time.Now())
	if err != nil {
		return fmt.Errorf("trustd answered with an unusable certificate: %w", err)
	}

	left := leftOut(sans, cert)

	if fits && len(left) >= len(leftOut(sans, current)) { // the present one is as good
		w.keep(rt, current, left, now)

		return nil
	}

	if err := typed.Set(ctx, rt, "", secrets.APIID, secrets.APICertsSpec{Server: server, AcceptedCAs: root.AcceptedCAs}); err != nil {
		return err
	}

	if wanted != w.asked {
		w.pause = 0
	}

	w.asked = wanted
	w.keep(rt, cert, left, now)

	log.InfoContext(ctx, "the API has a certificate from trustd",
		"names", cert.DNSNames, "addresses", cert.IPAddresses, "until", cert.NotAfter, "left out", left)

	return nil
}

// keep keeps a certificate until it is due or, if it lacks something, is to be asked for again: ever later, as long as it does.
func (w *workerAPI) keep(rt controller.Runtime, cert *x509.Certificate, left []string, now time.Time) {
	if len(left) == 0 {
		w.again, w.pause = time.Time{}, 0
	} else {
		w.pause = min(max(2*w.pause, lackPause), lackLimit)
		w.again = now.Add(w.pause)
	}

	w.wake(rt, cert, now)
}

// wake has the controller run again when the certificate is due, or is to be completed.
func (w *workerAPI) wake(rt controller.Runtime, cert *x509.Certificate, now time.Time) {
	due := renewWorker(cert)
	if !w.again.IsZero() && w.again.Before(due) {
		due = w.again
	}

	w.due.at(due, now, rt.QueueReconcile)
}

// request returns a request to the known control planes: those of the configuration and, once there is a Node, of Kubernetes.
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

// usable returns the certificate, or an error when it cannot be used now.
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

// renewWorker returns when a certificate is replaced: at half of its life, and up to a twentieth of it later, so that the workers of a
// cluster that was started as a whole do not all send their requests at once.
func renewWorker(cert *x509.Certificate) time.Time {
	sum := sha256.Sum256(cert.Raw)
	spread := cert.NotAfter.Sub(cert.NotBefore) / 20 / 256

	return pki.RenewAt(cert).Add(time.Duration(sum[0]) * spread)
}

// authorityKind returns the kind of key of the API's authority.
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

// leftOut returns the names and addresses that were requested and are not in the certificate.
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
