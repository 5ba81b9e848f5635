// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"go.etcd.io/bbolt"
)

// The log is a file beside the store while that is open. A write appends a record to it, which is one write of the disk; a transaction of the
// store takes two. When the log is full, its changes go to the store in one transaction, with those that found it full, and the log begins
// again. So they do when the store is closed: then the log is removed. After a crash, opening the store reads the log.
//
// A record:
//
//	8 bytes   generation: random, chosen when the log begins, and stored in the store; records of other generations are remains
//	4 bytes   number of the record, from 0
//	4 bytes   length of the changes
//	4 bytes   CRC-32C of all that is before it and of the changes
//	          sealed: the changes (encodeEntries), all of which were made or none
type log struct {
	path       string
	file       *os.File // nil without room for it on the disk; then all changes go to the store
	generation [8]byte
	records    uint32
	end        int // of the last record
	// changes are those in the log.
	changes []entry
}

const (
	logSuffix = ".log"
	logSize   = 1 << 16

	headerSize = 8 + 4 + 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordPlace is what the changes of a record are bound to.
func recordPlace(generation [8]byte, number uint32) [][]byte {
	return [][]byte{placeLog, generation[:], binary.BigEndian.AppendUint32(nil, number)}
}

func encodeRecord(generation [8]byte, number uint32, sealed []byte) []byte {
	b := make([]byte, 0, headerSize+len(sealed))
	b = append(b, generation[:]...)
	b = binary.BigEndian.AppendUint32(b, number)
	b = binary.BigEndian.AppendUint32(b, uint32(len(sealed)))
	b = binary.BigEndian.AppendUint32(b, checksum(b, sealed))

	return append(b, sealed...)
}

func checksum(header, sealed []byte) uint32 {
	return crc32.Update(crc32.Checksum(header, castagnoli), castagnoli, sealed)
}

// cutRecord returns the changes of the record at the beginning of b, and what follows; false if there is none of the generation, or not all of it.
func cutRecord(b []byte, generation [8]byte) (number uint32, sealed, rest []byte, ok bool) {
	if len(b) < headerSize || !bytes.HasPrefix(b, generation[:]) {
		return 0, nil, nil, false
	}

	header, b := b[:headerSize], b[headerSize:]

	n := binary.BigEndian.Uint32(header[12:])
	if uint64(n) > uint64(len(b)) || checksum(header[:16], b[:n]) != binary.BigEndian.Uint32(header[16:]) {
		return 0, nil, nil, false
	}

	return binary.BigEndian.Uint32(header[8:]), b[:n], b[n:], true
}

// records returns the sealed changes of the records of a log. The last write may have been cut off by a crash, so that there is no whole record;
// a later record behind a damaged one is an error.
func records(log []byte, generation [8]byte) ([][]byte, error) {
	var out [][]byte

	for {
		number, sealed, rest, ok := cutRecord(log, generation)
		if !ok || int(number) != len(out) {
			break
		}

		out, log = append(out, sealed), rest
	}

	for at := 0; ; at++ {
		next := bytes.Index(log[at:], generation[:])
		if next < 0 {
			return out, nil
		}

		at += next

		if number, _, _, ok := cutRecord(log[at:], generation); ok && int(number) >= len(out) {
			return nil, fmt.Errorf("record %d is damaged, and record %d follows it", len(out), number)
		}
	}
}

// begin opens the file, or creates it with room for records.
func (l *log) begin() error {
	file, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|durably, 0o600)
	if err != nil {
		return err
	}

	if err := makeRoom(file); err != nil {
		return errors.Join(err, file.Close(), os.Remove(l.path))
	}

	l.file = file

	return nil
}

func makeRoom(file *os.File) error {
	info, err := file.Stat()
	if err != nil || info.Size() >= logSize {
		return err
	}

	if _, err := file.WriteAt(make([]byte, logSize-info.Size()), info.Size()); err != nil {
		return err
	}

	if err := file.Sync(); err != nil {
		return err
	}

	dir, err := os.Open(filepath.Dir(file.Name()))
	if err != nil {
		return err
	}

	return errors.Join(dir.Sync(), dir.Close())
}

// add appends a record; false if it has no room. A record that could not be written is overwritten by the next one.
func (l *log) add(seal *sealer, added []entry) (ok bool, err error) {
	if l.file == nil {
		return false, nil
	}

	record := encodeRecord(l.generation, l.records, seal.seal(encodeEntries(added), recordPlace(l.generation, l.records)...))
	if len(record) > logSize-l.end {
		return false, nil
	}

	if _, err := l.file.WriteAt(record, int64(l.end)); err != nil {
		return false, err
	}

	l.records++
	l.end += len(record)
	l.changes = append(l.changes, added...)

	return true, nil
}

// restart begins the log again, whose changes are in the store.
func (l *log) restart(generation [8]byte) {
	clear(l.changes)
	l.generation, l.records, l.end, l.changes = generation, 0, 0, l.changes[:0]
}

// close closes the file, if there is one, and lets it stay.
func (l *log) close() error {
	if l.file == nil {
		return nil
	}

	return l.file.Close()
}

// remove removes the file, if there is one.
func (l *log) remove() error {
	if l.file == nil {
		return nil
	}

	return errors.Join(l.file.Close(), os.Remove(l.path))
}

// replay stores the changes of the log that a crash left behind, if any.
func (f *file) replay(tx *bbolt.Tx, meta *bbolt.Bucket) error {
	stored := meta.Get(keyLog)
	if stored == nil {
		return nil
	}

	value, err := f.seal.open(stored, bucketMeta, keyLog)
	if err == nil && len(value) != len(f.log.generation) {
		err = errTruncated
	}

	if err != nil {
		return fmt.Errorf("generation of the log: %w", err)
	}

	generation := [8]byte(value)

	b, err := os.ReadFile(f.log.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the store was not closed, and its last changes are in %s, which is missing: bring it back, or create an empty one "+
			"to go on without them", f.log.path)
	}

	if err != nil {
		return err
	}

	all, err := records(b, generation)
	if err != nil {
		return fmt.Errorf("%s: %w", f.log.path, err)
	}

	for i, sealed := range all {
		changes, err := f.openRecord(sealed, recordPlace(generation, uint32(i)))
		if err == nil {
			err = f.putAll(tx, changes)
		}

		if err != nil {
			return fmt.Errorf("%s: record %d: %w", f.log.path, i, err)
		}
	}

	return nil
}

func (f *file) openRecord(sealed []byte, where [][]byte) ([]entry, error) {
	b, err := f.seal.open(sealed, where...)
	if err != nil {
		return nil, err
	}

	return decodeEntries(b)
}

// beginLog opens the log, and stores its generation. Without room on the disk there is none.
func (f *file) beginLog(meta *bbolt.Bucket) error {
	err := f.log.begin()
	if errors.Is(err, syscall.ENOSPC) {
		return meta.Delete(keyLog)
	}

	if err != nil {
		return err
	}

	f.log.restart(newGeneration())

	return f.putGeneration(meta, f.log.generation)
}

func (f *file) putGeneration(meta *bbolt.Bucket, generation [8]byte) error {
	return meta.Put(keyLog, f.seal.seal(generation[:], bucketMeta, keyLog))
}

func newGeneration() (g [8]byte) {
	rand.Read(g[:]) // it does not fail

	return g
}
