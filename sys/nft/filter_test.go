// SPDX-License-Identifier: Apache-2.0

package nft_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/nft"
	"github.com/seed-59268b81/talos/sys/nft/nfttest"
	"github.com/seed-59268b81/talos/sys/nstest"
)

func TestFake(t *testing.T) { suite(t, &nfttest.Filter{}) }

func TestKernel(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	suite(t, open(t))
}

func open(t *testing.T) *nft.Kernel {
	t.Helper()

	k := nft.New("test")
	if _, err := k.Read(); errors.Is(err, nft.ErrAbsent) {
		t.Skipf("no packet filter: %v", err)
	}

	return k
}

// suite changes a table from each of many random ones to the next. What the filter has must be what was wanted, each time.
func suite(t *testing.T, f nft.Filter) {
	rng := rand.New(rand.NewPCG(3, 7))

	for i := range 200 {
		want := random(rng)

		have, err := f.Read()
		if err != nil {
			t.Fatal(err)
		}

		changes := nft.Diff(have, want)
		if err := f.Apply(changes); err != nil {
			t.Fatalf("table %d: %v\nfrom %s\nto %s\nby %+v", i, err, show(have), show(want), changes)
		}

		have, err = f.Read()
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(sorted(want), sorted(have), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("table %d (-want +got):\n%s", i, diff)
		}

		if c := nft.Diff(have, want); !c.Empty() {
			t.Fatalf("table %d: changes remain: %+v", i, c)
		}
	}

	// A transaction that is refused changes nothing.
	before, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}

	bad := nft.Changes{
		Chains:  []nft.Chain{{Name: "bad", Type: "filter", Hook: 1, Rules: []nft.Rule{rule("missing", "dport", nft.Ports)}}},
		AddSets: []nft.Set{{Name: "other", Kind: nft.Ports, Ranges: []nft.Range{nft.One(port(1))}}},
	}

	if err := f.Apply(bad); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a rule with a set that does not exist: got %v, want ENOENT", err)
	}

	after, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(sorted(before), sorted(after), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the refused transaction changed (-before +after):\n%s", diff)
	}
}

// sorted returns a table in a comparable form: without expressions, which the kernel does not return.
func sorted(t nft.Table) nft.Table {
	out := nft.Table{Chains: slices.Clone(t.Chains), Sets: slices.Clone(t.Sets)}

	for i := range out.Chains {
		c := &out.Chains[i]
		c.Rules = slices.Clone(c.Rules)

		for j := range c.Rules {
			c.Rules[j].Exprs = nil
		}
	}

	for i := range out.Sets {
		out.Sets[i].Ranges = slices.SortedFunc(slices.Values(out.Sets[i].Ranges), func(a, b nft.Range) int { return strings.Compare(a.First, b.First) })
	}

	slices.SortFunc(out.Chains, func(a, b nft.Chain) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Sets, func(a, b nft.Set) int { return strings.Compare(a.Name, b.Name) })

	return out
}

func show(t nft.Table) string { return fmt.Sprintf("%+v", sorted(t)) }

// random returns a table with up to three chains, each with rules that look something up.
func random(rng *rand.Rand) nft.Table {
	var t nft.Table

	for c := range 3 {
		if rng.IntN(4) == 0 {
			continue
		}

		chain := nft.Chain{
			Name: fmt.Sprintf("chain%d", c), Type: "filter", Hook: uint32(rng.IntN(2)), Priority: int32(-150 + rng.IntN(2)), Accept: rng.IntN(2) == 0,
		}

		for r := range rng.IntN(4) {
			kind := []nft.Kind{nft.Addresses4, nft.Addresses6, nft.Ports, nft.Links, nft.ICMPTypes}[(c+r)%5]
			set := nft.Set{Name: fmt.Sprintf("%s_%d_%s", chain.Name, r, kind), Kind: kind, Ranges: content(rng, kind)}
			t.Sets = append(t.Sets, set)
			chain.Rules = append(chain.Rules, rule(set.Name, fmt.Sprintf("rule %d of %d", r, rng.IntN(2)), kind))
		}

		t.Chains = append(t.Chains, chain)
	}

	return t
}

func rule(set, text string, kind nft.Kind) nft.Rule {
	load := map[nft.Kind][]expr.Any{
		nft.Addresses4: {&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 12, Len: 4}},
		nft.Addresses6: {&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 8, Len: 16}},
		nft.Ports:      {&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2}},
		nft.Links:      {&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1}},
		nft.ICMPTypes:  {&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 0, Len: 1}},
	}

	return nft.Rule{Text: text, Exprs: append(load[kind], &expr.Lookup{SourceRegister: 1, SetName: set}, &expr.Verdict{Kind: expr.VerdictDrop})}
}

func port(p int) string { return string(binary.BigEndian.AppendUint16(nil, uint16(p))) }

// content returns values of a set, with gaps between ranges, sometimes up to the last value.
func content(rng *rand.Rand, kind nft.Kind) []nft.Range {
	var out []nft.Range

	value := func(n int) string {
		switch kind {
		case nft.Addresses4:
			return "\xc6\x33" + port(n)
		case nft.Addresses6:
			return "\x20\x01\x0d\xb8" + strings.Repeat("\x00", 10) + port(n)
		case nft.Ports:
			return port(n)
		case nft.Links:
			name := fmt.Sprintf("eth%d", n)

			return name + strings.Repeat("\x00", 16-len(name))
		default:
			return string([]byte{byte(n / 300)})
		}
	}

	interval := kind == nft.Addresses4 || kind == nft.Addresses6 || kind == nft.Ports

	for n := rng.IntN(3); n < 60000; n += 1200 + rng.IntN(20000) {
		last := n
		if interval {
			last += rng.IntN(1000)
		}

		out = append(out, nft.Range{First: value(n), Last: value(last)})
	}

	if interval && rng.IntN(2) == 0 {
		size := len(out[0].First)
		out = append(out, nft.Range{First: strings.Repeat("\xff", size-1) + "\xf0", Last: strings.Repeat("\xff", size)})
	}

	if rng.IntN(5) == 0 {
		return nil
	}

	return out
}

// TestManyElements changes one element of a set that takes several messages.
func TestManyElements(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	set := nft.Set{Name: "many", Kind: nft.Addresses4}

	for i := range 20_000 {
		set.Ranges = append(set.Ranges, nft.One("\x0a"+string([]byte{byte(i >> 14), byte(i >> 6), byte(i << 2)})))
	}

	want := nft.Table{Sets: []nft.Set{set}}
	if err := k.Apply(nft.Diff(nft.Table{}, want)); err != nil {
		t.Fatal(err)
	}

	set.Ranges = append(set.Ranges[1:], nft.One("\xc0\x00\x02\x01"))

	have, err := k.Read()
	if err != nil {
		t.Fatal(err)
	}

	changes := nft.Diff(have, nft.Table{Sets: []nft.Set{set}})
	if len(changes.Elements) != 1 || len(changes.Elements[0].Add) != 1 || len(changes.Elements[0].Remove) != 1 || len(changes.AddSets) > 0 {
		t.Errorf("got %d added sets, elements %+v; want one element removed and one added", len(changes.AddSets), changes.Elements)
	}

	if err := k.Apply(changes); err != nil {
		t.Fatal(err)
	}

	if have, err = k.Read(); err != nil || !nft.Diff(have, nft.Table{Sets: []nft.Set{set}}).Empty() {
		t.Errorf("the change has no effect: %v", err)
	}
}
