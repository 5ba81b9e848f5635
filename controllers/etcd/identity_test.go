// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

// wal is the begin of a log that etcd 3.6 has written.
var wal = func() []byte {
	b, err := hex.DecodeString("04000000000000840804100000000000" +
		"1f00000000000081080110c0eee05a1a16088df2f48ec1f7a6d7bd0110aaf4e5f599f3ebe7d10100" +
		"0d00000000000083080510b6f7e4581a0408001000000000")
	if err != nil {
		panic(err)
	}

	return b
}()

func TestIdentity(t *testing.T) {
	got, err := parseIdentity(bytes.NewReader(wal))
	if want := (identity{member: 0xbdae9bbc11dd390d, cluster: 0xd1cfaf999eb97a2a}); err != nil || got != want {
		t.Errorf("got %x, %v, want %x", got, err, want)
	}

	for n := range 54 {
		if id, err := parseIdentity(bytes.NewReader(wal[:n])); !errors.Is(err, errNoIdentity) {
			t.Errorf("the first %d bytes: got %x, %v, want %v", n, id, err, errNoIdentity)
		}
	}

	if id, err := readIdentity(t.TempDir()); err != nil || id != (identity{}) {
		t.Errorf("without a log: got %x, %v", id, err)
	}
}

func FuzzIdentity(f *testing.F) {
	f.Add(wal)
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, err := parseIdentity(bytes.NewReader(b)); (err == nil) == (id == identity{}) {
			t.Errorf("got %x, %v", id, err)
		}
	})
}
