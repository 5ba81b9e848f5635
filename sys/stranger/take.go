// SPDX-License-Identifier: Apache-2.0

//go:build linux

package stranger

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// take tries every way to bind a port, and calls keep for each that works. The port is kept if keep returns true.
func take(port int, keep func(fd int, how string) bool) error {
	// The options that share a port come first: an earlier bind without them may prevent sharing.
	for _, share := range [][]int{{unix.SO_REUSEADDR, unix.SO_REUSEPORT}, {unix.SO_REUSEADDR}, {unix.SO_REUSEPORT}, nil} {
		for _, at := range []struct {
			name    string
			family  int
			address unix.Sockaddr
		}{
			{"127.0.0.1", unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}},
			{"0.0.0.0", unix.AF_INET, &unix.SockaddrInet4{Port: port}},
			{"::", unix.AF_INET6, &unix.SockaddrInet6{Port: port}},
		} {
			fd, err := unix.Socket(at.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				continue // there is no IPv6
			}

			for _, option := range share {
				if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 1); err != nil {
					return err
				}
			}

			how := fmt.Sprintf("%s:%d with options %v", at.name, port, share)
			if unix.Bind(fd, at.address) == nil && unix.Listen(fd, 64) == nil && keep(fd, how) {
				return nil
			}

			unix.Close(fd)
		}
	}

	return os.ErrNotExist
}

// impersonate binds the ports as soon as they are free, and answers requests until the time is over. It does not count as a success to
// bind the wildcard address if clients reach the owner at a specific one.
func (r *Report) impersonate(ports []int, patience time.Duration) {
	certificate, err := selfSigned()
	if err != nil {
		return
	}

	var (
		mu   sync.Mutex
		all  sync.WaitGroup
		end  = time.Now().Add(patience)
		note = func(f func()) { mu.Lock(); defer mu.Unlock(); f() }
	)

	for _, port := range ports {
		all.Go(func() {
			for time.Now().Before(end) {
				var l net.Listener

				err := take(port, func(fd int, how string) bool {
					file := os.NewFile(uintptr(fd), how)
					if l, _ = net.FileListener(file); l == nil {
						return false
					}

					file.Close() // the listener has its own
					note(func() { r.Taken = append(r.Taken, how) })

					return true
				})
				if err != nil {
					time.Sleep(200 * time.Microsecond)

					continue
				}

				timer := time.AfterFunc(time.Until(end), func() { l.Close() })
				defer timer.Stop()

				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}

					note(func() { r.Callers++ })

					go answer(conn, certificate, end, func(request []byte) {
						note(func() {
							r.Heard = append(append(r.Heard, request...), '\n')
							line, _, _ := bufio.ScanLines(request, true) // it never fails
							r.Asked = append(r.Asked, fmt.Sprintf("%d: %s", port, request[:max(0, min(line, 80)-1)]))
						})
					})
				}
			}
		})
	}

	all.Wait()

	mu.Lock() // goroutines that still answer must not write any more
}

// answer answers every request with success.
func answer(raw net.Conn, certificate tls.Certificate, end time.Time, heard func(request []byte)) {
	defer raw.Close()

	_ = raw.SetDeadline(end)

	reader := bufio.NewReader(raw)
	conn := net.Conn(buffered{raw, reader})

	// The first byte of a TLS handshake is 22.
	if first, err := reader.Peek(1); err != nil {
		return
	} else if first[0] == 22 {
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert})
		if err := secure.Handshake(); err != nil { // the deadline ends it
			return
		}

		conn, reader = secure, bufio.NewReader(secure)
	}

	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}

		text, _ := httputil.DumpRequest(request, true) // a part counts too
		heard(text)

		if _, err := fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
			return
		}
	}
}

// buffered is a connection with data that was read ahead.
type buffered struct {
	net.Conn

	reader *bufio.Reader
}

// Read implements net.Conn.
func (b buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost", "kubernetes"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
