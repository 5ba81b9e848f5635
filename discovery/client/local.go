// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/seal"
)

// maxData is the largest sealed affiliate that services accept.
const maxData = 2048

// sealed is a Local as it is sent. It is encrypted once, so that each refresh has the same bytes.
type sealed struct {
	data      []byte
	endpoints [][]byte
	others    []sealedOther
}

type sealedOther struct {
	id        string
	endpoints [][]byte
}

func (s *sealed) equal(o *sealed) bool {
	if s == nil || o == nil {
		return s == o
	}

	return bytes.Equal(s.data, o.data) && slices.EqualFunc(s.endpoints, o.endpoints, bytes.Equal) &&
		slices.EqualFunc(s.others, o.others, func(a, b sealedOther) bool {
			return a.id == b.id && slices.EqualFunc(a.endpoints, b.endpoints, bytes.Equal)
		})
}

// sealLocal encrypts what is published. Nil stays nil.
func sealLocal(c *seal.Cipher, l *Local) (*sealed, error) {
	if l == nil {
		return nil, nil
	}

	affiliate := &clientapi.Affiliate{}
	if l.Affiliate != nil {
		affiliate = proto.CloneOf(l.Affiliate)
	}

	if l.Revision != 0 {
		field := protowire.AppendTag(nil, extension.FieldRevision, protowire.VarintType)
		affiliate.ProtoReflect().SetUnknown(protoreflect.RawFields(protowire.AppendVarint(field, l.Revision)))
	}

	plain, err := proto.MarshalOptions{Deterministic: true}.Marshal(affiliate)
	if err != nil {
		return nil, fmt.Errorf("publish: encode the affiliate: %w", err)
	}

	s := &sealed{data: c.SealAffiliate(plain)}
	if len(s.data) > maxData {
		return nil, fmt.Errorf("publish: the affiliate has %d bytes, and discovery services accept %d: list fewer addresses or networks", len(s.data), maxData)
	}

	if s.endpoints, err = sealEndpoints(c, l.Endpoints); err != nil {
		return nil, err
	}

	for id, endpoints := range l.Others {
		raw, err := sealEndpoints(c, endpoints)
		if err != nil {
			return nil, err
		}

		s.others = append(s.others, sealedOther{id: id, endpoints: raw})
	}

	slices.SortFunc(s.others, func(a, b sealedOther) int { return bytes.Compare([]byte(a.id), []byte(b.id)) })

	return s, nil
}

func sealEndpoints(c *seal.Cipher, endpoints []netip.AddrPort) ([][]byte, error) {
	var all [][]byte

	for _, e := range endpoints {
		raw, err := c.SealEndpoint(e)
		if err != nil {
			return nil, fmt.Errorf("publish: %w", err)
		}

		all = append(all, raw)
	}

	return all, nil
}
