// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/seed-59268b81/talos/layout"
)

// Tag names a value.
type Tag uint8

// The tags.
const (
	Upgrade                     Tag = 0x6
	StagedUpgradeImageRef       Tag = 0x7
	StagedUpgradeInstallOptions Tag = 0x8
	StateEncryptionConfig       Tag = 0x9
	MetalNetworkPlatformConfig  Tag = 0xa
	DownloadURLCode             Tag = 0xb
	UserReserved1               Tag = 0xc
	UserReserved2               Tag = 0xd
	UserReserved3               Tag = 0xe
	UUIDOverride                Tag = 0xf
	UniqueMachineToken          Tag = 0x10
	DiskImageBootloader         Tag = 0x11
)

// The tags that only the system writes: the API does not change them.
const (
	// Administrators has the certificates, in PEM, of the authorities that the machine's administrators have, once the machine has had a
	// configuration.
	Administrators Tag = 0x80
	// Trial has the record of the change that is on trial, or of the last one (package trial).
	Trial Tag = 0x81
	// Reset has what a reset wipes, while it is not done (package reset).
	Reset Tag = 0x84
)

// String returns the form that users see: 0x0a.
func (t Tag) String() string { return fmt.Sprintf("0x%02x", uint8(t)) }

// ErrDamaged is the error of a META that cannot be decoded.
var ErrDamaged = errors.New("META is damaged")

// ErrLegacyCopy is the error of a change that is on the disk, but not in the legacy copy that other programs read.
var ErrLegacyCopy = errors.New("the legacy copy of META is out of date")

// Device is the partition, or a file.
type Device interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
}

// Store holds the values of one partition. It is safe for concurrent use.
type Store struct {
	device Device

	mu       sync.Mutex
	values   map[Tag][]byte
	sequence uint64
	// next is the slot to write.
	next int
}

// Open reads the partition. After ErrDamaged the store is usable and empty: a Set repairs it.
func Open(device Device) (*Store, error) {
	s := &Store{device: device, values: map[Tag][]byte{}}

	image := make([]byte, layout.MetaSize)
	if n, err := device.ReadAt(image, 0); n < layout.MetaSize {
		return nil, fmt.Errorf("read META: got %d of %d bytes: %w", n, layout.MetaSize, err)
	}

	return s, s.load(image)
}

func (s *Store) load(image []byte) error {
	var (
		found bool
		errs  []error
	)

	for i := range slots {
		c, err := decodeSlot(image[i*slotSize:][:slotSize])

		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("slot %d: %w", i, err))
		case c != nil && (!found || c.sequence > s.sequence):
			s.values, s.sequence, s.next, found = c.values, c.sequence, 1-i, true
		}
	}

	if found {
		return nil
	}

	if values, ok := decodeLegacy(image[len(image)-legacySize:]); ok {
		s.values = values

		return nil
	}

	// The legacy copy is written after the slot. Without one, and with one slot only, the first write of all was cut off.
	first := len(errs) == 1 && len(bytes.Trim(image[len(image)-legacySize:], "\x00")) == 0

	if len(errs) > 0 && !first {
		return fmt.Errorf("%w: %w", ErrDamaged, errors.Join(errs...))
	}

	return nil
}

// Values returns a copy of all values.
func (s *Store) Values() map[Tag][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()

	out := make(map[Tag][]byte, len(s.values))
	for t, v := range s.values {
		out[t] = bytes.Clone(v)
	}

	return out
}

// Get returns a value.
func (s *Store) Get(tag Tag) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	v, ok := s.values[tag]

	return bytes.Clone(v), ok
}

// Set stores a value; it is on the disk when Set returns nil or ErrLegacyCopy. An equal value is not written again.
func (s *Store) Set(tag Tag, value []byte) error {
	return s.change(func(values map[Tag][]byte) bool {
		if old, ok := values[tag]; ok && bytes.Equal(old, value) {
			return false
		}

		values[tag] = bytes.Clone(value)

		return true
	})
}

// Delete removes a value; it is not an error if there is none.
func (s *Store) Delete(tag Tag) error {
	return s.change(func(values map[Tag][]byte) bool {
		_, ok := values[tag]
		delete(values, tag)

		return ok
	})
}

// Wipe deletes all values, and overwrites what older copies of the partition had. After a power cut either all values are there, or none.
func (s *Store) Wipe() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	// The current copy is the last, and goes with its first sector.
	current := int64(1-s.next) * slotSize
	zeros := make([]byte, layout.MetaSize)

	for _, a := range []struct{ from, to int64 }{
		{0, current}, {current + slotSize, layout.MetaSize}, {current, current + sectorSize}, {current, current + slotSize},
	} {
		if a.from == a.to {
			continue
		}

		if err := s.write(zeros[a.from:a.to], a.from, "zeros"); err != nil {
			return err
		}
	}

	s.values = map[Tag][]byte{}

	return nil
}

// sectorSize is what a disk writes as a whole.
const sectorSize = 512

func (s *Store) change(fn func(map[Tag][]byte) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	values := maps.Clone(s.values)
	if !fn(values) {
		return nil
	}

	slot, err := encodeSlot(copyOf{values: values, sequence: s.sequence + 1})
	if err != nil {
		return err
	}

	if err := s.write(slot, int64(s.next*slotSize), "slot"); err != nil {
		return err
	}

	s.values, s.sequence, s.next = values, s.sequence+1, 1-s.next

	if err := s.write(encodeLegacy(values), layout.MetaSize-legacySize, "legacy copy"); err != nil {
		return fmt.Errorf("%w: %w", ErrLegacyCopy, err)
	}

	return nil
}

func (s *Store) write(b []byte, offset int64, what string) error {
	if _, err := s.device.WriteAt(b, offset); err != nil {
		return fmt.Errorf("write META: %s: %w", what, err)
	}

	if err := s.device.Sync(); err != nil {
		return fmt.Errorf("write META: flush %s: %w", what, err)
	}

	return nil
}
