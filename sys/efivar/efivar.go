// SPDX-License-Identifier: Apache-2.0

// Package efivar reads and writes variables of the firmware (UEFI specification 2.10, chapter 8) in efivarfs. The firmware replaces a variable
// as a whole, and it is durable when Set returns.
//
// On a folder of an ordinary file system Dir works too, so tests need no other implementation.
package efivar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf16"

	"github.com/google/uuid"
)

// Mounted is where the system has efivarfs.
const Mounted Dir = "/sys/firmware/efi/efivars"

// Dir is a mounted efivarfs.
type Dir string

// Name is the name of a variable; Vendor is whose it is.
type Name struct {
	Name   string
	Vendor uuid.UUID
}

func (d Dir) path(n Name) string { return filepath.Join(string(d), n.Name+"-"+n.Vendor.String()) }

// attributes of the variables that Set writes: they last, and boot loaders and the system see them.
const attributes = 0x1 | 0x2 | 0x4

// attributeSize is the size of the attributes at the start of a file.
const attributeSize = 4

// maxSize limits what is read.
const maxSize = 64 << 10

// Get returns the value of a variable. Without it the error is fs.ErrNotExist.
func (d Dir) Get(n Name) ([]byte, error) {
	b, err := os.ReadFile(d.path(n))

	switch {
	case err != nil:
		return nil, fmt.Errorf("read EFI variable %s: %w", n.Name, reason(err))
	case len(b) < attributeSize || len(b) > maxSize:
		return nil, fmt.Errorf("read EFI variable %s: %d bytes are not valid", n.Name, len(b))
	}

	return b[attributeSize:], nil
}

// Set writes a variable. An equal value is not written again: memory of firmware wears out.
func (d Dir) Set(n Name, value []byte) error {
	if old, err := d.Get(n); err == nil && bytes.Equal(old, value) {
		return nil
	}

	path := d.path(n)
	if err := mutable(path); err != nil {
		return fmt.Errorf("write EFI variable %s: %w", n.Name, err)
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("write EFI variable %s: %w", n.Name, reason(err))
	}

	// One write for attributes and value: each write is a variable.
	_, err = f.Write(append(binary.LittleEndian.AppendUint32(nil, attributes), value...))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write EFI variable %s: %w", n.Name, reason(err))
	}

	return nil
}

// Delete removes a variable. It is not an error if there is none.
func (d Dir) Delete(n Name) error {
	path := d.path(n)

	err := mutable(path)
	if err == nil {
		err = os.Remove(path)
	}

	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete EFI variable %s: %w", n.Name, reason(err))
	}

	return nil
}

// reason returns the cause of an error without the path, which the caller has named.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}

	return err
}

// EncodeText returns text as boot loaders write it: UTF-16 with a zero at the end.
func EncodeText(s string) []byte {
	b := make([]byte, 0, 2*len(s)+2)
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}

	return append(b, 0, 0)
}

// DecodeText is the opposite of EncodeText; the zero may be missing.
func DecodeText(b []byte) (string, error) {
	if len(b)%2 != 0 {
		return "", fmt.Errorf("text of %d bytes is not UTF-16", len(b))
	}

	var units []uint16

	for ; len(b) > 0; b = b[2:] {
		u := binary.LittleEndian.Uint16(b)
		if u == 0 {
			break
		}

		units = append(units, u)
	}

	return string(utf16.Decode(units)), nil
}
