// SPDX-License-Identifier: Apache-2.0

// Package trust requests a certificate from the control plane's trustd.
//
// The answer is not trusted: the certificate must be for the key that was sent, and lead to an authority that this node's own
// configuration accepts. The authorities in the answer are ignored. So an attacker who poses as trustd can deny a node its
// certificate, and do nothing else.
package trust

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	securityapi "github.com/seed-59268b81/talos/api/security"
)

const (
	// tryTime is the timeout of a request to one endpoint; a machine that is off does not answer.
	tryTime    = 5 * time.Second
	lookupTime = 5 * time.Second
	// maxAnswer in bytes is far more than a certificate and a bundle of authorities.
	maxAnswer = 1 << 20
)

// Request is a request to trustd.
type Request struct {
	// Hosts and Addresses of the control plane.
	Hosts     []string
	Addresses []netip.Addr
	// Roots that trustd's own certificate must lead to.
	Roots *x509.CertPool
	// Token of the machine.
	Token string
	// CSR is the signing request, PEM.
	CSR []byte
}

// endpoint is one address of the control plane. Its certificate may be for the address, or for the host that resolved to it.
type endpoint struct {
	host string
	addr netip.Addr
}

func (e endpoint) String() string {
	address := net.JoinHostPort(e.addr.String(), strconv.Itoa(contract.TrustdPort))
	if e.host != "" {
		return e.host + " (" + address + ")"
	}

	return address
}

// Certificate sends the request to one endpoint after the other, in random order, until one answers. The error has the error of each.
func Certificate(ctx context.Context, r Request) (crt []byte, err error) {
	endpoints, problems := r.endpoints(ctx)

	rand.Shuffle(len(endpoints), func(i, j int) { endpoints[i], endpoints[j] = endpoints[j], endpoints[i] })

	for _, e := range endpoints {
		crt, err := r.ask(ctx, e)
		if err == nil {
			return crt, nil
		}

		if ctx.Err() != nil {
			return nil, ctx.Err()
		}

		problems = append(problems, fmt.Errorf("trustd at %s: %w", e, err))
	}

	if len(problems) == 0 {
		return nil, errors.New("no control plane is known that could sign a certificate: set cluster.controlPlane.endpoint")
	}

	return nil, errors.Join(problems...)
}

// endpoints returns all addresses, each once, and the errors of name resolution.
func (r Request) endpoints(ctx context.Context) (found []endpoint, problems []error) {
	seen := map[netip.Addr]bool{}
	add := func(host string, addr netip.Addr) {
		if addr = addr.Unmap(); addr.IsValid() && !seen[addr] {
			seen[addr] = true
			found = append(found, endpoint{host: host, addr: addr})
		}
	}

	// Names first: the certificate of an address may be for the name alone.
	for _, host := range r.Hosts {
		ctx, cancel := context.WithTimeout(ctx, lookupTime)
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)

		cancel()

		if err != nil {
			problems = append(problems, fmt.Errorf("resolve %s: %w", host, err))
		}

		for _, addr := range addrs {
			add(host, addr)
		}
	}

	for _, addr := range r.Addresses {
		add("", addr)
	}

	return found, problems
}

func (r Request) ask(ctx context.Context, e endpoint) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()

	var failed failure

	conn, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(e.addr.String(), strconv.Itoa(contract.TrustdPort)),
		grpc.WithTransportCredentials(credentials.NewTLS(r.tls(e, &failed))), grpc.WithContextDialer(failed.dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, err
	}
	defer conn.Close()

	answer, err := securityapi.NewSecurityServiceClient(conn).Certificate(
		metadata.AppendToOutgoingContext(ctx, contract.KeyToken, r.Token), &securityapi.CertificateRequest{Csr: r.CSR})

	switch s := status.Convert(err); s.Code() {
	case codes.OK:
		return answer.GetCrt(), nil
	case codes.DeadlineExceeded:
		return nil, &net.OpError{Op: "request", Net: "tcp", Err: fmt.Errorf("timed out after %s: is the machine on, and is port %d reachable from this one?",
			tryTime, contract.TrustdPort)}
	case codes.Unavailable: // there is no connection
		return nil, cmp.Or(failed.get(), errors.New(s.Message()))
	default:
		return nil, fmt.Errorf("%s: %s", s.Code(), s.Message())
	}
}

func (r Request) tls(e endpoint, failed *failure) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2"},
		// The check differs from the usual one only in that either of two names is accepted.
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(state tls.ConnectionState) error {
			return failed.set(verify(state.PeerCertificates, r.Roots, e))
		},
	}
}

// failure keeps the error of a connection, without the text that gRPC adds to it.
type failure struct{ last atomic.Pointer[error] }

func (f *failure) set(err error) error {
	f.last.Store(&err)

	return err
}

func (f *failure) get() error {
	if err := f.last.Load(); err != nil {
		return *err
	}

	return nil
}

func (f *failure) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)

	return conn, f.set(err)
}

func verify(chain []*x509.Certificate, roots *x509.CertPool, e endpoint) error {
	if len(chain) == 0 {
		return errors.New("the server has no certificate")
	}

	intermediates := x509.NewCertPool()
	for _, cert := range chain[1:] {
		intermediates.AddCert(cert)
	}

	if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates}); err != nil {
		return err
	}

	err := chain[0].VerifyHostname(e.addr.String())
	if err != nil && e.host != "" {
		err = chain[0].VerifyHostname(e.host)
	}

	return err
}
