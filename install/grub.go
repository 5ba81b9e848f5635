// SPDX-License-Identifier: Apache-2.0

package install

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// GRUB has the programs of GRUB 2 for a BIOS, as grub-mkimage creates them. The BIOS loads the first sector of the disk, which is Boot without
// the partition table. It loads the first sector of Core, from the partition BIOS, and that loads the rest of Core.
//
// Neither has a file system, so each has the sectors of what it loads: for Boot the field kernel_sector, and for Core a list in its first
// sector, which Write fills in (GRUB's include/grub/i386/pc/boot.h and boot/i386/pc/diskboot.S).
type GRUB struct {
	Boot, Core Source
}

const (
	// biosSector is the size of the sectors that a BIOS reads.
	biosSector = 512
	// bootCodeSize is the room for a program in the first sector of a disk.
	bootCodeSize = 440
	// maxCore is the memory for Core.
	maxCore = 0x78000

	kernelSector = 0x5c
	driveCheck   = 0x66
	// The list of Core ends at the end of its first sector. An entry is the first sector, the number of sectors, and the segment of the
	// memory. The list is read backwards, up to an entry without sectors.
	listEntry   = biosSector - 12
	listEnd     = listEntry - 12
	coreSegment = 0x820
)

// place returns both programs for a partition BIOS that starts at a sector.
func (g GRUB) place(first uint64) (boot, core []byte, err error) {
	if boot, err = g.Boot.read(biosSector); err == nil {
		core, err = g.Core.read(maxCore)
	}

	if err != nil {
		return nil, nil, fmt.Errorf("GRUB: %w", err)
	}

	return placed(boot, core, first)
}

func placed(boot, core []byte, first uint64) (code, placed []byte, err error) {
	le := binary.LittleEndian

	switch {
	case len(boot) != biosSector || le.Uint16(boot[biosSector-2:]) != 0xaa55:
		return nil, nil, errors.New("GRUB: the program for the first sector of the disk is none")
	case len(core) < 2*biosSector || len(core) > maxCore:
		return nil, nil, fmt.Errorf("GRUB: its core has %d bytes", len(core))
	case le.Uint16(core[listEntry+10:]) != coreSegment || le.Uint16(core[listEnd+8:]) != 0:
		return nil, nil, errors.New("GRUB: its core has no list of sectors")
	}

	code = append(code, boot[:bootCodeSize]...)
	le.PutUint64(code[kernelSector:], first)
	// Some firmware passes a wrong number of the drive. Without the jump that is here, 0 and 1 mean the first hard disk.
	code[driveCheck], code[driveCheck+1] = 0x90, 0x90

	placed = append(placed, core...)
	placed = append(placed, make([]byte, -len(core)&(biosSector-1))...)

	le.PutUint64(placed[listEntry:], first+1)
	le.PutUint16(placed[listEntry+8:], uint16(len(placed)/biosSector-1))

	return code, placed, nil
}

// read returns all of a small source.
func (s Source) read(limit int64) ([]byte, error) {
	if s.Size > limit {
		return nil, fmt.Errorf("the source has %d bytes, and there is room for %d", s.Size, limit)
	}

	in, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()

	b, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, err
	}

	if sum := sha256.Sum256(b); int64(len(b)) != s.Size || s.SHA256 != "" && hex.EncodeToString(sum[:]) != s.SHA256 {
		return nil, fmt.Errorf("the source has %d bytes, want %d with the digest %s: it is damaged", len(b), s.Size, s.SHA256)
	}

	return b, nil
}
