// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// TestCacheIsBounded: the cache never exceeds its size, and keeps what was used last.
func TestCacheIsBounded(t *testing.T) {
	const limit = 20_000

	c, now := newCache(limit), time.Now()
	keyOf := func(i int) key {
		return key{name: fmt.Sprintf("n%d.", i), qtype: dns.TypeTXT, qclass: dns.ClassINET}
	}

	put := func(i int) {
		name := fmt.Sprintf("n%d.", i)
		query := new(dns.Msg).SetQuestion(name, dns.TypeTXT)
		c.put(keyOf(i), answerFrom(query, []string{name + ` 60 IN TXT "` + strings.Repeat("x", i%200) + `"`}, 0), now)
	}

	for i := range 1000 {
		put(i)
		put(i) // again: it replaces

		if kept, _ := c.get(keyOf(0), now); kept == nil {
			t.Fatalf("the answer that is always used was removed at %d", i)
		}

		if c.size > limit || len(c.entries) != c.used.Len() {
			t.Fatalf("at %d: %d bytes of at most %d, %d entries, %d in the order of use", i, c.size, limit, len(c.entries), c.used.Len())
		}
	}

	if kept, _ := c.get(keyOf(999), now); kept == nil {
		t.Error("the last answer was not kept")
	}

	if kept, _ := c.get(keyOf(1), now); kept != nil {
		t.Error("an answer that was not used was kept")
	}

	if len(c.entries) < 30 {
		t.Errorf("only %d entries were kept", len(c.entries))
	}
}

func TestLifetime(t *testing.T) {
	query := new(dns.Msg).SetQuestion("a.", dns.TypeA)

	for _, tt := range []struct {
		name    string
		records []string
		rcode   int
		want    time.Duration
	}{
		{"the shortest counts", []string{"a. 60 IN A 192.0.2.1", "a. 30 IN A 192.0.2.2"}, 0, 30 * time.Second},
		{"a limit", []string{"a. 9999999 IN A 192.0.2.1"}, 0, maxTTL},
		{"no such name", []string{". 600 IN SOA a. b. 1 2 3 4 77"}, dns.RcodeNameError, 77 * time.Second},
		{"no such name for long", []string{". 99999 IN SOA a. b. 1 2 3 4 99999"}, dns.RcodeNameError, maxNegativeTTL},
		{"no such name, without authority", nil, dns.RcodeNameError, 0},
		{"no such record", []string{". 50 IN SOA a. b. 1 2 3 4 77"}, 0, 50 * time.Second},
		{"no such record, without authority", nil, 0, 0},
		{"a failure", []string{"a. 60 IN A 192.0.2.1"}, dns.RcodeServerFailure, 0},
	} {
		if got := lifetime(answerFrom(query, tt.records, tt.rcode)); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
