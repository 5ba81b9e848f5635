// SPDX-License-Identifier: Apache-2.0

// Package seal encrypts what machines publish to a discovery service, with the cluster secret as the key. The service sees ids,
// sizes and addresses of connections, never plain text.
//
// The format is that of existing clients. An affiliate is AES-256-GCM: nonce, ciphertext, tag. An endpoint is AES-256 in ECB mode, block
// by block, so that equal endpoints have equal bytes and the service can compare them: one byte with the length of a protobuf message,
// the message, zeros up to a whole block.
//
// Existing clients choose a random nonce. Ours derives it from the plain text (a MAC of it, with a key derived from the cluster
// secret): a machine that restarts publishes the bytes that it published before, and the service tells no one. Different plain texts have
// different nonces, and equal ones need no different ones: the service already sees when a machine publishes the same bytes again.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// KeySize is the size of a cluster secret in bytes.
const KeySize = 32

const (
	nonceSize = 12
	tagSize   = 16
	// maxEndpoint is the largest sealed endpoint. Services refuse larger ones.
	maxEndpoint = 2 * aes.BlockSize
)

// Cipher seals and opens with one cluster secret. Several goroutines may use it.
type Cipher struct {
	block    cipher.Block
	aead     cipher.AEAD
	nonceKey []byte
	secret   []byte
}

// New returns the cipher of a cluster secret.
func New(secret []byte) (*Cipher, error) {
	if len(secret) != KeySize {
		return nil, fmt.Errorf("cluster secret: it has %d bytes, want %d", len(secret), KeySize)
	}

	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, fmt.Errorf("cluster secret: %w", err)
	}

	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("cluster secret: %w", err)
	}

	return &Cipher{block: block, aead: aead, nonceKey: mac(secret, "discovery: key of nonces"), secret: slices.Clone(secret)}, nil
}

func mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)

	for _, part := range parts {
		var size [8]byte

		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}

	return h.Sum(nil)
}

// SealAffiliate encrypts an encoded affiliate.
func (c *Cipher) SealAffiliate(plain []byte) []byte {
	return c.sealAffiliate(plain, mac(c.nonceKey, string(plain))[:nonceSize])
}

func (c *Cipher) sealAffiliate(plain, nonce []byte) []byte {
	sealed := make([]byte, 0, nonceSize+len(plain)+tagSize)

	return c.aead.Seal(append(sealed, nonce...), nonce, plain, nil)
}

// OpenAffiliate decrypts an affiliate. It does not change sealed.
func (c *Cipher) OpenAffiliate(sealed []byte) ([]byte, error) {
	if len(sealed) < nonceSize+tagSize {
		return nil, fmt.Errorf("open affiliate: it has %d bytes, want at least %d", len(sealed), nonceSize+tagSize)
	}

	plain, err := c.aead.Open(nil, sealed[:nonceSize], sealed[nonceSize:], nil)
	if err != nil {
		return nil, errors.New("open affiliate: it was not sealed with this cluster's secret")
	}

	return plain, nil
}

// SealEndpoint encrypts an endpoint, without the zone of its address. The encoding is canonical, because services compare the bytes.
func (c *Cipher) SealEndpoint(endpoint netip.AddrPort) ([]byte, error) {
	addr := endpoint.Addr().Unmap().WithZone("")
	if !addr.IsValid() {
		return nil, errors.New("seal endpoint: it has no address")
	}

	message := protowire.AppendTag(nil, 1, protowire.BytesType)
	message = protowire.AppendBytes(message, addr.AsSlice())

	if endpoint.Port() != 0 {
		message = protowire.AppendTag(message, 2, protowire.VarintType)
		message = protowire.AppendVarint(message, uint64(endpoint.Port()))
	}

	size := (1 + len(message) + aes.BlockSize - 1) / aes.BlockSize * aes.BlockSize
	sealed := make([]byte, size)
	sealed[0] = byte(len(message))
	copy(sealed[1:], message)

	for b := sealed; len(b) > 0; b = b[aes.BlockSize:] {
		c.block.Encrypt(b, b)
	}

	return sealed, nil
}

// OpenEndpoint decrypts an endpoint. It does not change sealed. There is no tag that proves who sealed it, so anything that SealEndpoint
// could not have returned is refused.
func (c *Cipher) OpenEndpoint(sealed []byte) (netip.AddrPort, error) {
	if n := len(sealed); n == 0 || n > maxEndpoint || n%aes.BlockSize != 0 {
		return netip.AddrPort{}, fmt.Errorf("open endpoint: it has %d bytes, want one or two blocks of %d", n, aes.BlockSize)
	}

	var room [maxEndpoint]byte

	plain := room[:len(sealed)]

	for at := 0; at < len(plain); at += aes.BlockSize {
		c.block.Decrypt(plain[at:], sealed[at:])
	}

	size := int(plain[0])
	if size >= len(plain) {
		return netip.AddrPort{}, errForeignEndpoint
	}

	message, rest := plain[1:1+size], plain[1+size:]
	if slices.ContainsFunc(rest, func(b byte) bool { return b != 0 }) {
		return netip.AddrPort{}, errForeignEndpoint
	}

	return decodeEndpoint(message)
}

var errForeignEndpoint = errors.New("open endpoint: it was not sealed with this cluster's secret")

func decodeEndpoint(message []byte) (netip.AddrPort, error) {
	var (
		ip   []byte
		port uint64
	)

	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return netip.AddrPort{}, errForeignEndpoint
		}

		message = message[n:]

		switch {
		case number == 1 && kind == protowire.BytesType:
			ip, n = protowire.ConsumeBytes(message)
		case number == 2 && kind == protowire.VarintType:
			port, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}

		if n < 0 {
			return netip.AddrPort{}, errForeignEndpoint
		}

		message = message[n:]
	}

	addr, ok := netip.AddrFromSlice(ip)
	if !ok || port > 1<<16-1 {
		return netip.AddrPort{}, errForeignEndpoint
	}

	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), nil
}
