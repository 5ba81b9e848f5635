// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/filetree"
)

// identity is whose data a data directory has. It is zero without data.
type identity struct{ member, cluster uint64 }

// errNoIdentity is returned for a log that does not begin as one of etcd's.
var errNoIdentity = errors.New("etcd's log does not say whose it is")

const (
	// maxRecord is more than the first two records of a log have.
	maxRecord = 4096
	// metadataRecord is the type of the record with the identity.
	metadataRecord = 1
)

// readIdentity returns the identity in the log of a data directory. Each file of the log begins with it.
func readIdentity(dir string) (identity, error) {
	logs, err := filetree.Match(filepath.Join(dir, layout.EtcdLogDir), layout.EtcdLogPattern)
	if err != nil {
		return identity{}, fmt.Errorf("read etcd's log: %w", err)
	}

	if len(logs) == 0 {
		return identity{}, nil
	}

	file, err := os.Open(logs[len(logs)-1])
	if err != nil {
		return identity{}, fmt.Errorf("read etcd's log: %w", err)
	}
	defer file.Close()

	id, err := parseIdentity(file)
	if err != nil {
		return identity{}, fmt.Errorf("read %s: %w", file.Name(), err)
	}

	return id, nil
}

// parseIdentity finds the record with the identity. A frame of the log is its length, with the padding in the highest byte, and a
// message of a type (1), a checksum (2) and data (3).
func parseIdentity(r io.Reader) (identity, error) {
	for range 4 {
		var head uint64
		if err := binary.Read(r, binary.LittleEndian, &head); err != nil {
			return identity{}, fmt.Errorf("%w: %w", errNoIdentity, err)
		}

		size, padding := head&(1<<56-1), uint64(0)
		if head>>63 != 0 {
			padding = head >> 56 & 7
		}

		if size == 0 || size > maxRecord {
			return identity{}, errNoIdentity
		}

		frame := make([]byte, size+padding)
		if _, err := io.ReadFull(r, frame); err != nil {
			return identity{}, fmt.Errorf("%w: %w", errNoIdentity, err)
		}

		numbers, data, err := fields(frame[:size])
		if err != nil {
			return identity{}, err
		}

		if numbers[1] == metadataRecord {
			numbers, _, err = fields(data)
			if id := (identity{member: numbers[1], cluster: numbers[2]}); id.member != 0 && id.cluster != 0 {
				return id, err
			}

			return identity{}, errNoIdentity
		}
	}

	return identity{}, errNoIdentity
}

// fields returns the numbers of a message with fields 1 and 2, and the bytes of field 3.
func fields(message []byte) (numbers [3]uint64, data []byte, err error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return numbers, nil, errNoIdentity
		}

		message = message[n:]

		switch {
		case kind == protowire.VarintType && number < 3:
			numbers[number], n = protowire.ConsumeVarint(message)
		case kind == protowire.BytesType && number == 3:
			data, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}

		if n < 0 {
			return numbers, nil, errNoIdentity
		}

		message = message[n:]
	}

	return numbers, data, nil
}
