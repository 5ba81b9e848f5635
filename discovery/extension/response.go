// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of a WatchResponse: the two of the protocol, and ours.
const (
	fieldAffiliates = 1
	fieldDeleted    = 2
	fieldSequence   = 1000
	fieldEnd        = 1001
	fieldBuckets    = 1002
	fieldCovered    = 1003
)

// Fields of an Affiliate.
const (
	fieldID        = 1
	fieldData      = 2
	fieldEndpoints = 3
)

// FieldRevision is the field of the plain text of an affiliate that holds its revision.
const FieldRevision = 1000

// Limits of what a service may say in one message. It is not trusted, and what it says takes more memory than it has bytes.
const (
	maxMembers   = 64 << 10
	maxEndpoints = 1024
)

// Trailer is what the last message of a batch has besides its members.
type Trailer struct {
	// Sequence is the place that has been reached.
	Sequence uint64
	// End is the end of the first messages of a watch.
	End bool
	// Buckets is how many buckets there are, and Covered those whose members have been sent. Only for ModeDifference.
	Buckets int
	Covered []uint32
}

// AppendTrailer appends a trailer to an encoded WatchResponse.
func AppendTrailer(b []byte, t Trailer) []byte {
	b = protowire.AppendTag(b, fieldSequence, protowire.VarintType)
	b = protowire.AppendVarint(b, t.Sequence)

	if t.End {
		b = protowire.AppendTag(b, fieldEnd, protowire.VarintType)
		b = protowire.AppendVarint(b, 1)
	}

	if t.Buckets == 0 {
		return b
	}

	b = protowire.AppendTag(b, fieldBuckets, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(t.Buckets))

	var packed []byte
	for _, c := range t.Covered {
		packed = protowire.AppendVarint(packed, uint64(c))
	}

	b = protowire.AppendTag(b, fieldCovered, protowire.BytesType)

	return protowire.AppendBytes(b, packed)
}

// AppendMember appends a member to an encoded WatchResponse or ListResponse.
func AppendMember[T ~string | ~[]byte](b []byte, id string, data []byte, endpoints []T) []byte {
	size := 0
	if id != "" {
		size += protowire.SizeTag(fieldID) + protowire.SizeBytes(len(id))
	}

	if len(data) > 0 {
		size += protowire.SizeTag(fieldData) + protowire.SizeBytes(len(data))
	}

	for _, e := range endpoints {
		size += protowire.SizeTag(fieldEndpoints) + protowire.SizeBytes(len(e))
	}

	if b == nil {
		b = make([]byte, 0, protowire.SizeTag(fieldAffiliates)+protowire.SizeBytes(size))
	}

	b = protowire.AppendTag(b, fieldAffiliates, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))

	if id != "" {
		b = protowire.AppendTag(b, fieldID, protowire.BytesType)
		b = protowire.AppendString(b, id)
	}

	if len(data) > 0 {
		b = protowire.AppendTag(b, fieldData, protowire.BytesType)
		b = protowire.AppendBytes(b, data)
	}

	for _, e := range endpoints {
		b = protowire.AppendTag(b, fieldEndpoints, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(len(e)))
		b = append(b, e...)
	}

	return b
}

// AppendDeleted appends the mark that the members of a WatchResponse have been removed.
func AppendDeleted(b []byte) []byte {
	b = protowire.AppendTag(b, fieldDeleted, protowire.VarintType)

	return protowire.AppendVarint(b, 1)
}

// Member is a member as a service sends it. Its bytes are those of the message.
type Member struct {
	ID        string
	Data      []byte
	Endpoints [][]byte
}

// Response is a decoded WatchResponse.
type Response struct {
	Members []Member
	Deleted bool
	// Placed reports whether there is a Trailer.
	Placed bool
	Trailer
}

var errResponse = errors.New("decode the answer of the discovery service: it is not a WatchResponse")

// field takes the next field off a message. Fields of a type that is not the expected one are for the caller to skip.
func field(b []byte) (number protowire.Number, kind protowire.Type, bytes []byte, value uint64, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, 0, nil, 0, nil, errResponse
	}

	b = b[n:]

	switch kind {
	case protowire.BytesType:
		bytes, n = protowire.ConsumeBytes(b)
	case protowire.VarintType:
		value, n = protowire.ConsumeVarint(b)
	default:
		n = protowire.ConsumeFieldValue(number, kind, b)
	}

	if n < 0 {
		return 0, 0, nil, 0, nil, errResponse
	}

	return number, kind, bytes, value, b[n:], nil
}

// DecodeResponse decodes a WatchResponse without copying it.
func DecodeResponse(raw []byte) (r Response, err error) {
	for len(raw) > 0 {
		var (
			number protowire.Number
			kind   protowire.Type
			bytes  []byte
			value  uint64
		)

		if number, kind, bytes, value, raw, err = field(raw); err != nil {
			return Response{}, err
		}

		switch {
		case number == fieldAffiliates && kind == protowire.BytesType:
			m, err := decodeMember(bytes)
			if err != nil || len(r.Members) >= maxMembers {
				return Response{}, errResponse
			}

			r.Members = append(r.Members, m)
		case number == fieldDeleted && kind == protowire.VarintType:
			r.Deleted = value != 0
		case number == fieldSequence && kind == protowire.VarintType:
			r.Sequence, r.Placed = value, true
		case number == fieldEnd && kind == protowire.VarintType:
			r.End = value != 0
		case number == fieldBuckets && kind == protowire.VarintType:
			if value > maxBuckets || value&(value-1) != 0 {
				return Response{}, errResponse
			}

			r.Buckets = int(value)
		case number == fieldCovered && kind == protowire.BytesType:
			for len(bytes) > 0 {
				c, n := protowire.ConsumeVarint(bytes)
				if n < 0 || c >= maxBuckets || len(r.Covered) >= maxBuckets {
					return Response{}, errResponse
				}

				r.Covered, bytes = append(r.Covered, uint32(c)), bytes[n:]
			}
		}
	}

	return r, nil
}

func decodeMember(raw []byte) (m Member, err error) {
	for len(raw) > 0 {
		var (
			number protowire.Number
			kind   protowire.Type
			bytes  []byte
		)

		if number, kind, bytes, _, raw, err = field(raw); err != nil {
			return Member{}, err
		}

		switch {
		case kind != protowire.BytesType:
		case number == fieldID:
			m.ID = string(bytes)
		case number == fieldData:
			m.Data = bytes
		case number == fieldEndpoints && len(m.Endpoints) >= maxEndpoints:
			return Member{}, errResponse
		case number == fieldEndpoints:
			m.Endpoints = append(m.Endpoints, bytes)
		}
	}

	return m, nil
}
