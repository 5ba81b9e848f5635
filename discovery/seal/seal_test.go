// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"testing"

	"google.golang.org/protobuf/proto"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func counting() *Cipher {
	key := make([]byte, KeySize)
	for i := range key {
		key[i] = byte(i)
	}

	c, err := New(key)
	if err != nil {
		panic(err)
	}

	return c
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()

	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}

	return raw
}

// endpoints are vectors that were computed with openssl.
var endpoints = []struct{ endpoint, sealed string }{
	{"10.0.0.2:51820", "45c55198f8ad5b07dd423e192f7e13e8"},
	{"[2001:db8::1]:51820", "e2702633ca89239d5ee036a316dde237d604c19a74d2f45c1e624c2d38c4cca0"},
}

func TestEndpointVectors(t *testing.T) {
	c := counting()

	for _, v := range endpoints {
		want := netip.MustParseAddrPort(v.endpoint)

		sealed, err := c.SealEndpoint(want)
		if err != nil || hex.EncodeToString(sealed) != v.sealed {
			t.Errorf("%s: sealed as %x, %v, want %s", v.endpoint, sealed, err, v.sealed)
		}

		if got, err := c.OpenEndpoint(unhex(t, v.sealed)); err != nil || got != want {
			t.Errorf("%s: opened as %s, %v, want %s", v.sealed, got, err, want)
		}
	}
}

func TestAffiliateVector(t *testing.T) {
	c := counting()
	plain, nonce := unhex(t, "0a0161"), unhex(t, "000102030405060708090a0b")
	want := "000102030405060708090a0b4d03b770b9bfdf23d11e862c41acb75899870b"

	if got := hex.EncodeToString(c.sealAffiliate(plain, nonce)); got != want {
		t.Errorf("sealed as %s, want %s", got, want)
	}

	opened, err := c.OpenAffiliate(unhex(t, want))
	if err != nil || !bytes.Equal(opened, plain) {
		t.Fatalf("opened as %x, %v, want %x", opened, err, plain)
	}

	var affiliate clientapi.Affiliate
	if err := proto.Unmarshal(opened, &affiliate); err != nil || affiliate.GetNodeId() != "a" {
		t.Errorf("the affiliate is %v, %v, want node a", &affiliate, err)
	}
}

// TestEndpointCanonical checks that every form of an endpoint has the same bytes: services find equal endpoints by comparing them.
func TestEndpointCanonical(t *testing.T) {
	c := counting()

	for name, pair := range map[string][2]string{
		"IPv4 in IPv6": {"10.0.0.2:51820", "[::ffff:10.0.0.2]:51820"},
		"zone":         {"[fe80::1]:51820", "[fe80::1%eth0]:51820"},
	} {
		a, errA := c.SealEndpoint(netip.MustParseAddrPort(pair[0]))
		b, errB := c.SealEndpoint(netip.MustParseAddrPort(pair[1]))

		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %s is %x (%v), %s is %x (%v)", name, pair[0], a, errA, pair[1], b, errB)
		}
	}

	if _, err := c.SealEndpoint(netip.AddrPort{}); err == nil {
		t.Error("an endpoint without an address was sealed")
	}

	sealed, err := c.SealEndpoint(netip.MustParseAddrPort("10.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}

	if got, err := c.OpenEndpoint(sealed); err != nil || got.Port() != 0 {
		t.Errorf("port 0 is opened as %s, %v", got, err)
	}
}

func TestSealIsRepeatable(t *testing.T) {
	c := counting()

	if a, b := c.SealAffiliate([]byte("one")), c.SealAffiliate([]byte("one")); !bytes.Equal(a, b) {
		t.Error("equal affiliates have different bytes")
	}

	if a, b := c.SealAffiliate([]byte("one")), c.SealAffiliate([]byte("two")); bytes.Equal(a[:nonceSize], b[:nonceSize]) {
		t.Error("different affiliates have one nonce")
	}
}

func TestForeign(t *testing.T) {
	ours := counting()

	other, err := New(bytes.Repeat([]byte{7}, KeySize))
	if err != nil {
		t.Fatal(err)
	}

	if _, err := ours.OpenAffiliate(other.SealAffiliate([]byte("secret"))); err == nil {
		t.Error("an affiliate of another cluster was opened")
	}

	sealed, _ := other.SealEndpoint(netip.MustParseAddrPort("10.0.0.2:51820"))
	if got, err := ours.OpenEndpoint(sealed); err == nil {
		t.Errorf("an endpoint of another cluster was opened as %s", got)
	}

	if _, err := New(nil); err == nil {
		t.Error("a cipher without a key was made")
	}
}

// TestHostileEndpoints seals plain texts that no client writes.
func TestHostileEndpoints(t *testing.T) {
	c := counting()

	for name, plain := range map[string]string{
		"length beyond the end":  "ff0a040a00000210ec94030000000000",
		"length of all":          "100a040a00000210ec94030000000000",
		"length in the message":  "7f0a040a00000210ec94030000000000",
		"padding with data":      "0a0a040a00000210ec94030000000001",
		"no address":             "00000000000000000000000000000000",
		"address of three bytes": "090a030a000010ec9403000000000000",
		"port 65536":             "0a0a040a000002108080040000000000",
		"cut off":                "090a040a00000210ec9400000000000000",
	} {
		raw := unhex(t, plain)[:16]
		c.block.Encrypt(raw, raw)

		if got, err := c.OpenEndpoint(raw); err == nil {
			t.Errorf("%s: opened as %s", name, got)
		}
	}

	for _, n := range []int{0, 1, 15, 17, 48} {
		if _, err := c.OpenEndpoint(make([]byte, n)); err == nil {
			t.Errorf("%d bytes were opened", n)
		}
	}
}

// FuzzOpen opens bytes of a stranger, sealed with the key so that decoding is reached, and as they are.
func FuzzOpen(f *testing.F) {
	c := counting()

	for _, v := range endpoints {
		raw := unhex(f, v.sealed)
		f.Add(raw)

		for b := raw; len(b) > 0; b = b[16:] {
			c.block.Decrypt(b, b)
		}

		f.Add(raw)
	}

	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = c.OpenAffiliate(raw)
		_, _ = c.OpenEndpoint(raw)

		blocks := bytes.Clone(raw[:len(raw)/16*16])
		for b := blocks; len(b) > 0; b = b[16:] {
			c.block.Encrypt(b, b)
		}

		endpoint, err := c.OpenEndpoint(blocks)
		if err != nil {
			return
		}

		sealed, err := c.SealEndpoint(endpoint)
		if err != nil {
			t.Fatalf("%s was opened and cannot be sealed: %v", endpoint, err)
		}

		if again, err := c.OpenEndpoint(sealed); err != nil || again != endpoint {
			t.Fatalf("%s is opened again as %s, %v", endpoint, again, err)
		}
	})
}
