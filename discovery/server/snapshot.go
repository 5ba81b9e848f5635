// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-59268b81/talos/discovery/registry"
	"github.com/seed-59268b81/talos/durable"
)

// The snapshot file is one message of package sidero.discovery.storage, so that a service that exists can be replaced:
//
//	StateSnapshot     { 1 clusters }
//	ClusterSnapshot   { 1 id, 2 affiliates }
//	AffiliateSnapshot { 1 id, 2 expiration, 3 data, 4 endpoints, 5 ttl, 1000 asked }
//	EndpointSnapshot  { 1 expiration, 2 data, 3 ttl }
//
// A ttl is a google.protobuf.Duration, what was left when the file was written. An expiration is a google.protobuf.Timestamp, which old
// versions wrote. It is read when there is no ttl. Asked is the TTL that the machine has asked for, and other services ignore it.
//
// The time of the file says how long ago that was. What had no more left than that has expired. The others may have refreshed themselves after
// the file was written, and need a while to connect again: until then they do not expire.

// returnTime is how long a machine may take to connect to a service that has started: the longest delay of its attempts, and its turn among
// the calls of a large site.
const returnTime = 5 * time.Minute

// fieldAsked is the number of the field asked.
const fieldAsked = 1000

// maxCluster is the largest cluster in a file: 5,000 members of the largest size.
const maxCluster = 32 << 20

// SnapshotCounts are what a snapshot holds.
type SnapshotCounts struct {
	Clusters, Affiliates, Endpoints int
	Bytes                           int64
}

// Save replaces the snapshot file. When it fails, the old file stays.
func (s *Server) Save(path string) (n SnapshotCounts, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return n, fmt.Errorf("save snapshot: %w", err)
	}

	err = durable.Replace(path, 0o600, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 64<<10)

		if n, err = s.write(w); err != nil {
			return err
		}

		return w.Flush()
	})
	if err != nil {
		return n, fmt.Errorf("save snapshot: %w", err)
	}

	return n, nil
}

func (s *Server) write(w io.Writer) (n SnapshotCounts, err error) {
	all, done := s.clusters.all()
	defer done()

	for id, c := range all {
		now := time.Now()

		c.mu.Lock()
		members := c.present(now).All(now)
		c.mu.Unlock()

		if len(members) == 0 {
			continue
		}

		body := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), id)

		for _, m := range members {
			body = protowire.AppendBytes(protowire.AppendTag(body, 2, protowire.BytesType), encodeMember(m))
			n.Endpoints += len(m.Endpoints)
		}

		frame := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), body)
		if _, err := w.Write(frame); err != nil {
			return n, err
		}

		n.Clusters++
		n.Affiliates += len(members)
		n.Bytes += int64(len(frame))
	}

	return n, nil
}

func encodeMember(m registry.Member) []byte {
	b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), m.ID)
	b = protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), m.Data)

	for _, e := range m.Endpoints {
		one := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), e.Data)
		one = protowire.AppendBytes(protowire.AppendTag(one, 3, protowire.BytesType), encodeTTL(e.TTL))
		b = protowire.AppendBytes(protowire.AppendTag(b, 4, protowire.BytesType), one)
	}

	b = protowire.AppendBytes(protowire.AppendTag(b, 5, protowire.BytesType), encodeTTL(m.TTL))
	if m.Asked > 0 {
		b = protowire.AppendBytes(protowire.AppendTag(b, fieldAsked, protowire.BytesType), encodeTTL(m.Asked))
	}

	return b
}

// encodeTTL returns whole seconds, rounded up: rounded down, a short TTL would be none.
func encodeTTL(ttl time.Duration) []byte {
	seconds := (ttl + time.Second - 1) / time.Second

	return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(seconds))
}

// Load adds the members of a snapshot file to the service. A file that does not exist has none.
func (s *Server) Load(path string) (n SnapshotCounts, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}

	if err != nil {
		return n, fmt.Errorf("load snapshot: %w", err)
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return n, fmt.Errorf("load snapshot: %w", err)
	}

	// A file of the future is of a clock that was wrong.
	age := max(time.Since(info.ModTime()), 0)

	if n, err = s.read(bufio.NewReaderSize(f, 64<<10), age); err != nil {
		return n, fmt.Errorf("load snapshot %s: %w", path, err)
	}

	return n, nil
}

var errSnapshot = errors.New("the file is not a snapshot, or is damaged")

// read reads a snapshot of an age cluster by cluster. Those before an error stay.
func (s *Server) read(r *bufio.Reader, age time.Duration) (n SnapshotCounts, err error) {
	for {
		if _, err := r.Peek(1); errors.Is(err, io.EOF) {
			return n, nil
		}

		tag, err := readVarint(r)
		if err != nil {
			return n, err
		}

		size, err := readVarint(r)
		if err != nil {
			return n, err
		}

		number, kind := protowire.DecodeTag(tag)
		if number != 1 || kind != protowire.BytesType || size > maxCluster {
			return n, errSnapshot
		}

		// In parts: the size may be a lie.
		body, err := io.ReadAll(io.LimitReader(r, int64(size)))
		if err != nil {
			return n, err
		}

		if uint64(len(body)) != size {
			return n, errSnapshot
		}

		if err := s.restore(body, age, &n); err != nil {
			return n, err
		}

		n.Bytes += int64(size)
	}
}

func readVarint(r *bufio.Reader) (uint64, error) {
	var raw []byte

	for {
		b, err := r.ReadByte()
		if err != nil || len(raw) == 10 {
			return 0, errSnapshot
		}

		if raw = append(raw, b); b < 0x80 {
			break
		}
	}

	v, n := protowire.ConsumeVarint(raw)
	if n < 0 {
		return 0, errSnapshot
	}

	return v, nil
}

func (s *Server) restore(body []byte, age time.Duration, n *SnapshotCounts) error {
	now := time.Now()

	// An expiration is of a time of day, which does not depend on the file's age.
	id, members, err := decodeCluster(body, now.Add(-age))
	if err != nil {
		return err
	}

	if checkCluster(id) != nil {
		return errSnapshot
	}

	c, done := s.clusters.hold(id)
	defer done()

	c.mu.Lock()
	defer c.mu.Unlock()

	if !c.log.Idle() {
		return fmt.Errorf("cluster %q is in it twice", id)
	}

	for _, m := range members {
		if checkAffiliate(m.ID) != nil || len(m.Data) > maxData {
			return errSnapshot
		}

		m = outlived(m, age)

		// A limit that has become smaller cuts off.
		if err := c.log.Restore(now, m); err != nil {
			s.log.Warn("a member of the snapshot is left out", "error", err)
		}
	}

	c.tell(now, true)

	restored, endpoints := c.log.Members()
	n.Clusters++
	n.Affiliates += restored
	n.Endpoints += endpoints

	return nil
}

// outlived returns what a member has left when the file has an age.
func outlived(m registry.Member, age time.Duration) registry.Member {
	m.TTL, m.Asked = min(m.TTL, maxTTL), min(m.Asked, maxTTL)

	grace := min(cmp.Or(m.Asked, maxTTL), returnTime)

	left := func(ttl time.Duration) time.Duration {
		if ttl -= age; ttl > 0 {
			return max(ttl, grace)
		}

		return 0
	}

	m.TTL = left(m.TTL)
	for i, e := range m.Endpoints {
		m.Endpoints[i].TTL = left(e.TTL)
	}

	return m
}

// fields calls f with each field of a message that has bytes or a number.
func fields(b []byte, f func(number protowire.Number, bytes []byte, value uint64) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errSnapshot
		}

		b = b[n:]

		var (
			bytes []byte
			value uint64
		)

		switch kind {
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(b)
			if bytes == nil {
				bytes = []byte{}
			}
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}

		if n < 0 {
			return errSnapshot
		}

		b = b[n:]

		if err := f(number, bytes, value); err != nil {
			return err
		}
	}

	return nil
}

func decodeCluster(body []byte, now time.Time) (id string, members []registry.Member, err error) {
	err = fields(body, func(number protowire.Number, bytes []byte, _ uint64) error {
		switch number {
		case 1:
			id = string(bytes)
		case 2:
			m, err := decodeAffiliate(bytes, now)
			if err != nil {
				return err
			}

			members = append(members, m)
		}

		return nil
	})

	return id, members, err
}

func decodeAffiliate(body []byte, now time.Time) (m registry.Member, err error) {
	left, asked := lifetime{now: now}, lifetime{}

	err = fields(body, func(number protowire.Number, bytes []byte, _ uint64) error {
		switch number {
		case 1:
			m.ID = string(bytes)
		case 2:
			return left.expiration(bytes)
		case 3:
			m.Data = bytes
		case 4:
			e, err := decodeEndpoint(bytes, now)
			if err != nil {
				return err
			}

			m.Endpoints = append(m.Endpoints, e)
		case 5:
			return left.ttl(bytes)
		case fieldAsked:
			return asked.ttl(bytes)
		}

		return nil
	})
	m.TTL, m.Asked = left.left(), max(asked.duration, 0)

	return m, err
}

func decodeEndpoint(body []byte, now time.Time) (e registry.Endpoint, err error) {
	left := lifetime{now: now}

	err = fields(body, func(number protowire.Number, bytes []byte, _ uint64) error {
		switch number {
		case 1:
			return left.expiration(bytes)
		case 2:
			if len(bytes) > maxEndpoint {
				return errSnapshot
			}

			e.Data = string(bytes)
		case 3:
			return left.ttl(bytes)
		}

		return nil
	})
	e.TTL = left.left()

	return e, err
}

// lifetime is what a member or an endpoint had left.
type lifetime struct {
	now               time.Time
	relative          bool
	duration, instant time.Duration
}

func (l *lifetime) ttl(b []byte) error {
	l.relative = true

	return fields(b, func(number protowire.Number, _ []byte, value uint64) error {
		if number == 1 {
			l.duration = seconds(int64(value))
		}

		return nil
	})
}

func (l *lifetime) expiration(b []byte) error {
	return fields(b, func(number protowire.Number, _ []byte, value uint64) error {
		if number == 1 {
			l.instant = seconds(int64(value) - l.now.Unix())
		}

		return nil
	})
}

// seconds returns a duration that does not overflow.
func seconds(n int64) time.Duration {
	const day = 24 * 60 * 60

	return time.Duration(min(max(n, -day), day)) * time.Second
}

func (l *lifetime) left() time.Duration {
	if l.relative {
		return l.duration
	}

	return l.instant
}
