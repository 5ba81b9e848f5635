// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math/bits"
)

// Limits of the number of buckets, powers of two. A digest with most of them has 8 KiB.
const (
	minBuckets = 16
	maxBuckets = 2048
)

// Digest is what a set of members is recognised by. Each member is in the bucket of its id.
type Digest struct {
	// Sum is the sum of the hashes of all members.
	Sum uint64
	// Buckets are the sums of the hashes of the members of each bucket, without the upper halves.
	Buckets []uint32
}

// Hash returns the hash of a member: of its id and of what it has published, as the service stores it.
func Hash[T ~string | ~[]byte](id string, data []byte, endpoints []T) uint64 {
	room := make([]byte, 0, 1024)

	add := func(n int) { room = binary.BigEndian.AppendUint64(room, uint64(n)) }

	add(len(id))
	room = append(room, id...)

	add(len(data))
	room = append(room, data...)

	for _, e := range endpoints {
		add(len(e))
		room = append(room, e...)
	}

	sum := sha256.Sum256(room)

	return binary.BigEndian.Uint64(sum[:])
}

// Slot returns the number of which a member's bucket is the remainder, see Bucket.
func Slot(id string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(id))

	return h.Sum32()
}

// Bucket returns the bucket of a slot, of a power of two of them.
func Bucket(slot uint32, count int) uint32 { return slot & uint32(count-1) }

// BucketsFor returns how many buckets suit a number of members.
func BucketsFor(members int) int {
	return min(max(1<<bits.Len(uint(members/2)), minBuckets), maxBuckets)
}

// Add adds a member's hash.
func (d *Digest) Add(slot uint32, hash uint64) {
	d.Sum += hash
	d.Buckets[Bucket(slot, len(d.Buckets))] += uint32(hash)
}

// Encode returns the digest as bytes.
func (d Digest) Encode() []byte {
	raw := binary.BigEndian.AppendUint64(make([]byte, 0, 8+4*len(d.Buckets)), d.Sum)
	for _, b := range d.Buckets {
		raw = binary.BigEndian.AppendUint32(raw, b)
	}

	return raw
}

// DecodeDigest is the inverse of Encode.
func DecodeDigest(raw []byte) (Digest, error) {
	n := (len(raw) - 8) / 4
	if len(raw)%4 != 0 || n < minBuckets || n > maxBuckets || n&(n-1) != 0 {
		return Digest{}, errors.New("decode digest: wrong size")
	}

	d := Digest{Sum: binary.BigEndian.Uint64(raw), Buckets: make([]uint32, n)}
	for i := range d.Buckets {
		d.Buckets[i] = binary.BigEndian.Uint32(raw[8+4*i:])
	}

	return d, nil
}
