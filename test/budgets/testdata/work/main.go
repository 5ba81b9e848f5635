// SPDX-License-Identifier: Apache-2.0

// Work does an amount of work on two processors at once, and prints how long it took. The work is of the kind that a node does when it
// starts: TLS handshakes with new certificates, JSON, and compression.
package main

import (
	"bytes"
	"compress/flate"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// units are how often each processor does the work.
const units = 120

func main() {
	runtime.GOMAXPROCS(2)

	var (
		workers sync.WaitGroup
		failed  [2]error
	)

	start := time.Now()

	for i := range failed {
		workers.Go(func() {
			for range units {
				if err := unit(); err != nil {
					failed[i] = err

					return
				}
			}
		})
	}

	workers.Wait()

	for _, err := range failed {
		if err != nil {
			fmt.Fprintln(os.Stderr, "work:", err)
			os.Exit(1)
		}
	}

	fmt.Println("work:", time.Since(start))
}

// unit is the work.
func unit() error {
	certificate, pool, err := identity()
	if err != nil {
		return err
	}

	if err := shake(certificate, pool); err != nil {
		return err
	}

	return pack()
}

// identity makes a certificate that is its own authority.
func identity() (tls.Certificate, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"work"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}

	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, nil, err
	}

	pool := x509.NewCertPool()
	pool.AddCert(leaf)

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool, nil
}

// shake makes a connection.
func shake(certificate tls.Certificate, pool *x509.CertPool) error {
	a, b := net.Pipe()
	server := tls.Server(a, &tls.Config{Certificates: []tls.Certificate{certificate}, SessionTicketsDisabled: true, MinVersion: tls.VersionTLS13})
	client := tls.Client(b, &tls.Config{RootCAs: pool, ServerName: "work", MinVersion: tls.VersionTLS13})
	done := make(chan error, 1)

	go func() { done <- server.Handshake() }()

	err := client.Handshake()
	if err == nil {
		err = <-done
	}

	_ = b.Close()
	_ = a.Close()

	return err
}

// pack encodes, compresses, and reads it again.
func pack() error {
	object := map[string]any{}
	for i := range 300 {
		object["field"+strconv.Itoa(i)] = map[string]any{"name": "value" + strconv.Itoa(i*i), "list": []int{i, i + 1, i * 7}, "set": i%3 == 0}
	}

	text, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return err
	}

	var packed bytes.Buffer

	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		return err
	}

	if _, err := w.Write(text); err != nil {
		return err
	}

	if err := w.Close(); err != nil {
		return err
	}

	again, err := io.ReadAll(flate.NewReader(&packed))
	if err != nil {
		return err
	}

	return json.Unmarshal(again, &object)
}
